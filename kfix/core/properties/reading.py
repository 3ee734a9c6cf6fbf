"""The properties of one file during reading: the values taken, and all mistakes with their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kfix.core.properties.parsing import NONE, Property

_NOT_SHOWN: Final = "its value comes from a config provider, and is not shown; see docs/security.md for what it may be"


class PropertiesReading:
    def __init__(self, path: Path, values: Mapping[str, Property]) -> None:
        self.path = path
        self.values = values
        self.problems: list[str] = []

    def get(self, *keys: str, default: str = "") -> str:
        """Returns the value of the first of these keys that the file has."""
        return next((self.values[key].value for key in keys if key in self.values), default)

    def has(self, *keys: str) -> bool:
        return any(self.get(key) for key in keys)

    def items(self, key: str) -> tuple[str, ...]:
        """Returns the parts of a comma-separated value."""
        return tuple(filter(None, map(str.strip, self.get(key).split(","))))

    def problem(self, text: str, *keys: str) -> None:
        """Adds a mistake at the first of these keys that the file has, else at its beginning.

        It never repeats a value from a config provider, nor text derived from one.
        """
        named = next((key for key in keys if key in self.values), "")
        at = self.values.get(named, NONE)
        if self._hides(text, keys):
            text = f"{named or 'a value'} is not valid: {_NOT_SHOWN}"
        self.problems.append(f"{self.path}:{at.line}:{at.column}: {text}")

    def _hides(self, text: str, keys: Sequence[str]) -> bool:
        is_hidden = any(self.values[key].hidden for key in keys if key in self.values)
        hidden = (each.value.lower() for each in self.values.values() if each.hidden and each.value)
        return is_hidden or any(value in text.lower() for value in hidden)
