"""`kafka-consumer-groups`: its lists, its descriptions and its errors.

The tool prints an error without its group; the command above names the group.
"""

from __future__ import annotations

import re
from typing import Final

from kfix.core.numbers import broker_id
from kfix.diagnose.pasted.clients import COORDINATOR_ERRORS, error_code
from kfix.diagnose.pasted.gathered import Gathered
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "kafka-consumer-groups"
_ASKED: Final = re.compile(r"kafka-consumer-groups\S*\s.*--group[ =]'?\"?(?P<group>[^\s'\"]{1,249})")
_SAID: Final = re.compile(r"(?:Error: |Warning: )?Consumer group '(?P<group>[^']{1,249})' (?P<what>.+)")
_FAILED: Final = re.compile(
    r"Error: (?:Executing consumer group command failed due to|Failed to)|Call: findCoordinator"
)
_TIMED_OUT: Final = 7
#: Columns that only this tool has; `GROUP` is missing up to Kafka 2.0.
_COLUMNS: Final = frozenset({"CURRENT-OFFSET", "ASSIGNMENT-STRATEGY", "CONSUMER-ID", "#MEMBERS", "LOG-END-OFFSET"})
_ID: Final = re.compile(r"\((?P<id>\d+)\)")


class ConsumerGroupsFormat:
    """Reads the rows below a header of the tool until a line does not fit."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._columns: list[str] = []

    @property
    def _asked(self) -> str:
        """Returns the group in the command above, "" if it names none."""
        asked = _ASKED.search(self._gathered.command.text)
        # A shell variable or a placeholder is not the name, and another name has another coordinator.
        return "" if asked is None or asked["group"].startswith(("$", "<", "%")) else asked["group"]

    def take(self, line: PastedLine) -> bool:
        text = line.text
        if said := _SAID.match(text):
            self._said(said["group"], said["what"], line)
            return True
        words = text.split()
        if _COLUMNS & set(words):
            self._columns = words
            return True
        if self._columns and self._row(words, line):
            return True
        self._columns = []
        if _FAILED.search(text):
            code = error_code(text)
            found = code if code in COORDINATOR_ERRORS else _TIMED_OUT if "Timed out" in text else -1
            self._gathered.complain("group", self._asked, -1 if found is None else found, line)
            return True
        return False

    def end_block(self) -> None:
        self._columns = []

    def _said(self, group: str, what: str, line: PastedLine) -> None:
        if "does not exist" in what:
            return
        self._gathered.groups[group] = "Empty" if "no active members" in what else ""
        if "is rebalancing" in what:
            self._gathered.complain("rebalancing", group, -1, line)
        if (code := error_code(what)) is not None:
            self._gathered.complain("group", group, code, line)

    def _row(self, words: list[str], line: PastedLine) -> bool:
        """Returns whether these words are a row: the column of the partition or of the members holds a number."""
        if "#MEMBERS" in self._columns:
            return self._state(words, line)
        if "PARTITION" not in self._columns or len(words) < len(self._columns):
            fits = "CONSUMER-ID" in self._columns and len(words) == len(self._columns) and words[-1].isdigit()
            if fits and self._columns[0] == "GROUP":
                self._gathered.groups.setdefault(words[0], "")
            return fits
        number = words[self._columns.index("PARTITION")]
        if not number.isdigit() and number != "-":  # A member without a partition.
            return False
        if self._columns[0] == "GROUP":
            self._gathered.groups.setdefault(words[0], "")
        elif self._asked:
            self._gathered.groups.setdefault(self._asked, "")
        return True

    def _state(self, words: list[str], line: PastedLine) -> bool:
        if len(words) < 2 or not words[-1].isdigit():
            return False
        group, state = words[0], words[-2] if words[-2].isalpha() else ""
        self._gathered.groups[group] = state
        if state == "Stable":
            self._gathered.settle("group", group, line)
        coordinator = next((m["id"] for word in words if (m := _ID.fullmatch(word))), "")
        broker = broker_id(coordinator)
        if broker is not None:
            self._gathered.say_alive(broker, f"coordinates group {group}")
        return True
