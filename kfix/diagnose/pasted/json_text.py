"""JSON in a pasted text, on one line or on many; it is read only if its format expects it."""

import json
from typing import Any, Final

#: Most lines of one JSON value.
_MOST_LINES: Final = 20_000


class JsonLines:
    """Collects the lines of one JSON object until its braces are balanced. `number` is the number of its first line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._inside = self._escaped = False
        self.number = 0

    @property
    def open(self) -> bool:
        return bool(self._lines)

    def add(self, text: str, number: int) -> str | None:
        """Returns the whole text of the object once it is complete; a string may be wrapped, too."""
        if not self._lines:
            self.number = number
        self._lines.append(text)
        self._count(text)
        if self._depth > 0 and len(self._lines) < _MOST_LINES:
            return None
        whole = "".join(self._lines)
        self.drop()
        return whole

    def drop(self) -> None:
        self._lines, self._depth, self._inside, self._escaped = [], 0, False, False

    def _count(self, text: str) -> None:
        """Counts the braces that are not in strings."""
        for char in text:
            if self._escaped:
                self._escaped = False
            elif char == "\\":
                self._escaped = self._inside
            elif char == '"':
                self._inside = not self._inside
            elif not self._inside:
                self._depth += (char == "{") - (char == "}")


def json_object(text: str) -> dict[str, Any] | None:
    """Returns the object, or None if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
