"""Colours of brokers, beside those that all pages share. Each is told from its neighbours without its hue, too: by
the id that stands in the bar. On the bars text of `on` has a contrast of 4.5 or more in both schemes.
"""

from __future__ import annotations

from typing import Final

from kfix.report.fleet.html.palette import css as shared

#: In the order of broker ids, again from the first after the last. No red: that is a partition without a leader.
LIGHT: Final = ("#2a5fa5", "#0f766e", "#8a5a00", "#6b4aa3", "#4d6b1f", "#9a3f77", "#4a5560", "#1f6f8b")
DARK: Final = ("#86b0ee", "#5cc9bd", "#e0b050", "#bda2ec", "#a9cc70", "#e69ac6", "#b4bdc8", "#7cc8e4")


def css() -> str:
    light, dark = ("".join(f"--b{n}:{colour};" for n, colour in enumerate(colours)) for colours in (LIGHT, DARK))
    brokers = f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
    fills = "".join(f".b{n}{{fill:var(--b{n})}}.dot.b{n}{{background:var(--b{n})}}" for n in range(len(LIGHT)))
    return shared() + brokers + fills + "\n"
