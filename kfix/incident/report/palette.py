"""Colours of brokers, in addition to the colours of all pages. A bar also shows the broker id, so hue is not needed.

Text of colour `on` has a contrast of at least 4.5 on the bars in both schemes.
"""

from __future__ import annotations

from typing import Final

from kfix.front.html.palette import css as shared

#: In the order of broker ids, repeated after the last. No red: that means a partition without a leader.
LIGHT: Final = ("#2a5fa5", "#0f766e", "#8a5a00", "#6b4aa3", "#4d6b1f", "#9a3f77", "#4a5560", "#1f6f8b")
DARK: Final = ("#86b0ee", "#5cc9bd", "#e0b050", "#bda2ec", "#a9cc70", "#e69ac6", "#b4bdc8", "#7cc8e4")


def css() -> str:
    light, dark = ("".join(f"--b{n}:{colour};" for n, colour in enumerate(colours)) for colours in (LIGHT, DARK))
    brokers = f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
    fills = "".join(f".b{n}{{fill:var(--b{n})}}.dot.b{n}{{background:var(--b{n})}}" for n in range(len(LIGHT)))
    return shared() + brokers + fills + "\n"
