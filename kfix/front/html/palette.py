"""The colours of the page in both schemes. Text and marks on `bg` and `panel`, and `on` on marks: contrast >= 4.5."""

from typing import Final

LIGHT: Final = {
    "bg": "#ffffff",
    "panel": "#f4f6f8",
    "line": "#c8ced7",
    "none": "#e9ecf0",
    "text": "#1b1f24",
    "soft": "#4c5560",
    "accent": "#0a56a3",
    "critical": "#b3261e",
    "warning": "#8a5200",
    "info": "#1c5fa9",
    "good": "#1a6d3b",
    "unknown": "#5b5c66",
    "muted": "#6a4fa0",
    "on": "#fffffe",
}
DARK: Final = {
    "bg": "#14171c",
    "panel": "#1d2229",
    "line": "#3e4753",
    "none": "#29303a",
    "text": "#e8ebef",
    "soft": "#b1b9c4",
    "accent": "#8bb9ff",
    "critical": "#ff8a80",
    "warning": "#ffc14d",
    "info": "#86b6fa",
    "good": "#6ddc98",
    "unknown": "#b3b7c0",
    "muted": "#c6b4ec",
    "on": "#13161b",
}
#: The colours of text and of marks.
TEXTS: Final = ("text", "soft", "accent", "critical", "warning", "info", "good", "unknown", "muted")


def css() -> str:
    """Returns the CSS custom properties; printing uses the light scheme."""
    light, dark = (_block(colours) for colours in (LIGHT, DARK))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def _block(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())
