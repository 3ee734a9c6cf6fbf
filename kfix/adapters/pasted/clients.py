"""Errors of producers and consumers, as their logs show them.

An error of a coordinator names a partition of the offsets topic by its group.
"""

from __future__ import annotations

import re
from typing import Final

from kfix.adapters.pasted.errors import COORDINATOR_ERRORS, error_code
from kfix.adapters.pasted.gathered import Gathered
from kfix.adapters.pasted.lines import PastedLine
from kfix.model.numbers import broker_id

NAME: Final = "client log"
#: Without any of these, a line names no error of anybody; a quick test, since logs are long.
_HINT: Final = re.compile(r"[A-Z]_[A-Z]|oordinator|eader|eplicas|ffset|opic")
_GROUP: Final = re.compile(r"\bgroup(?:Id|\.id)?[=:] ?'?(?P<group>[^\s,\]']{1,249})", re.IGNORECASE)
_TOPIC_ERRORS: Final = re.compile(r"(?P<topic>[\w.\-]{1,249})=(?P<error>[A-Z_]{8,60})(?=[,}])")
_PARTITION: Final = re.compile(r"\b(?:topic-)?partition (?P<topic>[\w.\-]{1,249})-\d+\b")
#: The coordinator is named with an id of its own, counted down from the largest number.
_COORDINATOR: Final = re.compile(r"[Gg]roup coordinator \S+:\d+ \(id: (?P<id>\d+) rack: ")
_LARGEST: Final = 2**31 - 1


class ClientFormat:
    """Reads a line that names an error and whom it concerns; an error in prose names neither."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is an error of a client about a group or a topic."""
        return _HINT.search(line.text) is not None and self._read(line)

    def _read(self, line: PastedLine) -> bool:
        topics = [(m["topic"], error_code(m["error"])) for m in _TOPIC_ERRORS.finditer(line.text)]
        for topic, code in topics:
            if code is not None:
                self._gathered.complain("topic", topic, code, line)
        if any(code is not None for _, code in topics):
            return True
        group, code = _GROUP.search(line.text), error_code(line.text)
        if group is not None and (coordinator := _COORDINATOR.search(line.text)):
            self._coordinator(group["group"], coordinator["id"], code, line)
            return True
        if code is None:
            return False
        if code in COORDINATOR_ERRORS:
            if group is not None:
                self._gathered.complain("group", group["group"], code, line)
            return group is not None
        if partition := _PARTITION.search(line.text):
            self._gathered.complain("topic", partition["topic"], code, line)
            return True
        return False

    def finish(self) -> None:
        """Nothing is kept open."""

    def _coordinator(self, group: str, number: str, code: int | None, line: PastedLine) -> None:
        self._gathered.groups.setdefault(group, "")
        if "unavailable" in line.text:
            self._gathered.complain("group", group, 15 if code is None else code, line)
        elif (named := broker_id(number)) is not None and named <= _LARGEST:
            self._gathered.say_alive(_LARGEST - named, f"coordinates group {group} (line {line.number})")
