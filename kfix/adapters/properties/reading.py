"""The properties of one file while they are read: what was taken, and all mistakes with their places."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kfix.adapters.properties.parsing import NONE, Property


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
        """Adds a mistake at the first of these keys that the file has, else at its begin."""
        at = next((self.values[key] for key in keys if key in self.values), NONE)
        self.problems.append(f"{self.path}:{at.line}:{at.column}: {text}")
