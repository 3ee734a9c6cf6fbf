"""Logs of brokers and controllers, in the wordings that a post-mortem recognizes (`adapters/brokerlog`)."""

from __future__ import annotations

from typing import Final

from kfix.adapters.brokerlog.lines import Counted, LogClock, TimeWindow, entries
from kfix.adapters.brokerlog.reading import by_logger, interpret
from kfix.adapters.pasted.gathered import BadRowError, Gathered, partition_view
from kfix.adapters.pasted.lines import PastedLine
from kfix.model.cluster.snapshot import PartitionView, TopicPartition
from kfix.model.incident.timeline import LogStatement

NAME: Final = "broker log"
_NO_LEADER: Final = -1
_ALWAYS: Final = TimeWindow(0.0, 32_503_680_000.0)


class LogFormat:
    """Reads log entries; the last one about a broker or a partition counts.

    A partition of a description or of a znode keeps what is shown there, since a log is about the past.
    """

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._wordings = by_logger()
        self._clock = LogClock("UTC")
        self._partitions: dict[TopicPartition, tuple[PartitionView, PastedLine]] = {}
        self._seen: set[str] = set()
        self._up: dict[int, tuple[bool, int]] = {}

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is a log entry that says something about a broker or a partition."""
        if not line.text.startswith("[") or not line.text[1:5].isdigit():
            return False
        entry = next(entries([line.text], self._clock, _ALWAYS, Counted()), None)
        if entry is None:
            return False
        statement = interpret(entry, self._wordings, f"line {line.number}")
        if statement is None:
            return False
        if line.text in self._seen:
            self._gathered.repeated.append(line)
        self._seen.add(line.text)
        self._add(statement, line)
        return True

    def finish(self) -> None:
        """Adds the last state of each broker and partition."""
        gathered = self._gathered
        for broker, (up, number) in self._up.items():
            if up:
                gathered.say_alive(broker, f"registered last (line {number})")
            else:
                gathered.say_dead(broker, f"was gone last (line {number})")
        for tp, (view, line) in self._partitions.items():
            if tp not in gathered.read:
                try:
                    gathered.partition(tp, view, line, NAME)
                except BadRowError as error:
                    gathered.broken(error, line)

    def _add(self, statement: LogStatement, line: PastedLine) -> None:
        for event in statement.events:
            kind = event.key.partition(":")[0]
            if event.broker is not None and kind in {"up", "gone"}:
                self._up[event.broker] = (kind == "up", line.number)
        if statement.controller is not None:
            self._gathered.controller = statement.controller.leader
        for tp, seen in statement.partitions:
            if seen.leader >= _NO_LEADER and seen.isr is not None:
                self._partitions[tp] = (partition_view(seen.leader, (), seen.isr, epoch=seen.epoch), line)
