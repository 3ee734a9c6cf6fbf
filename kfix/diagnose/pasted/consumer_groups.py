"""`kafka-consumer-groups`: its lists, its descriptions and its errors.

The tool prints an error without its group; the command above names the group. Two descriptions of a group are two
readings of it, with a time if the output of `date` or `watch` is above them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from kfix.core.numbers import broker_id
from kfix.core.snapshot.group_reading import GroupMember, GroupPartition, GroupReading
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.pasted.clients import COORDINATOR_ERRORS, error_code
from kfix.diagnose.pasted.gathered import NOBODY, Gathered
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
#: The output of `date` in its two orders, alone or in the head of `watch`.
_DATE: Final = re.compile(
    r"(?:Every [\d.]+s: .* )?[A-Z][a-z]{2} (?:(?P<month>[A-Z][a-z]{2}) +(?P<day>\d+)|"
    r"(?P<day_first>\d+) (?P<month_first>[A-Z][a-z]{2}) (?P<early>\d{4})) "
    r"(?P<time>\d+:\d\d:\d\d)(?: (?P<half>[AP]M))?(?: [A-Z]{3,5})?(?: (?P<year>\d{4}))?$"
)
_OFFSET: Final = re.compile(r"\d{1,18}")
_NOBODY: Final = "-"
_FIELDS: Final = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET")


class _Row(NamedTuple):
    committed: int
    end: int
    member: GroupMember | None
    line: PastedLine


class _Table(NamedTuple):
    """A description of a group; `at` is its time in seconds since the epoch, None if the text shows none."""

    at: float | None
    rows: dict[TopicPartition, _Row]

    @property
    def read(self) -> int:
        """The number of records that the group has read."""
        return sum(row.committed for row in self.rows.values())


class ConsumerGroupsFormat:
    """Reads the rows below a header of the tool until a line does not fit."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._columns: list[str] = []
        #: Words in the first line of a header that a terminal has wrapped, 0 for a whole one; the first part of a row.
        self._wrapped = 0
        self._held: PastedLine | None = None
        self._at: float | None = None
        self._begun = set[str]()
        self._described: dict[str, list[_Table]] = {}

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
        if (at := _date(text)) is not None:
            self._at = at
            return True
        if self._table(line):
            return True
        self.end_block()
        if _FAILED.search(text):
            code = error_code(text)
            found = code if code in COORDINATOR_ERRORS else _TIMED_OUT if "Timed out" in text else -1
            self._gathered.complain("group", self._asked, -1 if found is None else found, line)
            return True
        return False

    def end_block(self) -> None:
        self._drop_held()
        self._columns, self._wrapped = [], 0

    def _table(self, line: PastedLine) -> bool:
        """Returns whether the line is a header, a row, or a part of one that a terminal has wrapped."""
        words = line.text.split()
        if _COLUMNS & set(words):
            self._header(words)
            return True
        if self._wrapped and len(words) == self._wrapped:
            self._drop_held()
            self._held = line
            return True
        first = self._held.text.split() if self._held is not None else []
        fits = bool(self._columns) and self._row([*first, *words], line)
        self._held = None if fits else self._held
        return fits

    def _header(self, words: list[str]) -> None:
        rest = bool(self._columns) and not {"TOPIC", "GROUP"} & set(words)
        self._wrapped = len(self._columns) if rest else 0
        self._columns, self._begun = [*(self._columns if rest else ()), *words], set()

    def _drop_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._gathered.skip(held)

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
        if group := words[0] if self._columns[0] == "GROUP" else self._asked:
            self._gathered.groups.setdefault(group, "")
            self._add(group, dict(zip(self._columns, words, strict=False)), line)
        return True

    def _add(self, group: str, row: dict[str, str], line: PastedLine) -> None:
        topic, *numbers = (row.get(name, "") for name in _FIELDS)
        if "CONSUMER-ID" not in row or not all(_OFFSET.fullmatch(each) for each in numbers):
            return
        tables = self._described.setdefault(group, [])
        if group not in self._begun:
            self._begun.add(group)
            tables.append(_Table(self._at, {}))
        member, client, host = (row.get(name, _NOBODY) for name in ("CONSUMER-ID", "CLIENT-ID", "HOST"))
        tp, committed, end = TopicPartition(topic, int(numbers[0])), int(numbers[1]), int(numbers[2])
        owner = None if member == _NOBODY else GroupMember(member, client, host, "", ())
        tables[-1].rows[tp] = _Row(committed, end, owner, line)

    def finish(self) -> None:
        """Compares the last two descriptions of each group; with times they are two readings of it."""
        for group, tables in self._described.items():
            # Offsets grow: without times the description that is further on is the later one.
            ordered = sorted(tables, key=lambda each: (each.at or 0.0, each.read))
            for before, last in zip(ordered[-2:], ordered[-1:] if len(ordered) > 1 else (), strict=False):
                if before.at is not None and last.at is not None and before.at < last.at:
                    self._gathered.readings += [_reading(group, before.at, before), _reading(group, last.at, last)]
                else:
                    self._stands(group, before.rows, last.rows)

    def _stands(self, group: str, before: dict[TopicPartition, _Row], last: dict[TopicPartition, _Row]) -> None:
        """Notes the partitions that a member did not read while it read others, however long that was."""
        same = [(tp, before[tp], now) for tp, now in last.items() if tp in before and now.member == before[tp].member]
        moving = {now.member for _, then, now in same if now.committed > then.committed}
        for tp, then, now in same:
            fed = now.committed == then.committed < then.end < now.end
            if fed and now.member is not None and now.member in moving:
                detail = f"group {group} is at offset {now.committed}, {now.end - now.committed} behind"
                self._gathered.complain("standing", str(tp), -1, now.line, detail=detail)

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


def _date(text: str) -> float | None:
    """Returns the time that `date` or `watch` printed, None if this is no output of them. The time zone is left out."""
    found = _DATE.match(text)
    if found is None:
        return None
    day, month = (found[name] or found[f"{name}_first"] for name in ("day", "month"))
    stamp = f"{day} {month} {found['year'] or found['early']} {found['time']} {found['half'] or ''}".strip()
    try:
        if found["half"]:
            return datetime.strptime(f"{stamp} +0000", "%d %b %Y %I:%M:%S %p %z").timestamp()
        return datetime.strptime(f"{stamp} +0000", "%d %b %Y %H:%M:%S %z").timestamp()
    except ValueError:
        return None


def _reading(group: str, at: float, table: _Table) -> GroupReading:
    assigned: dict[GroupMember, list[TopicPartition]] = {}
    for tp, row in table.rows.items():
        if row.member is not None:
            assigned.setdefault(row.member, []).append(tp)
    return GroupReading(
        group,
        at,
        coordinator=NOBODY,
        endpoint=None,
        unconnected=None,
        members=tuple(member._replace(assigned=tuple(tps)) for member, tps in assigned.items()),
        partitions={tp: GroupPartition(row.committed, 0, -1, row.end, row.end, "") for tp, row in table.rows.items()},
    )
