"""Outputs that kfix recognizes, but that show nothing of what it diagnoses: they are named in a note."""

from __future__ import annotations

import re
from typing import Final

from kfix.adapters.pasted.gathered import Gathered
from kfix.adapters.pasted.lines import PastedLine

_FORMATS: Final = (
    ("kafka-configs", re.compile(r"(?:Dynamic configs|All configs|Default configs|Configs|Quota configs) for ")),
    ("kafka-acls", re.compile(r"Current ACLs for resource|\(principal=\S+, host=\S+, operation=")),
    ("kafka-get-offsets", re.compile(r"[\w.\-]{1,249}:\d{1,10}:\d{0,19}$")),
    (
        "kafka-reassign-partitions",
        re.compile(r"Status of partition reassignment:|Reassignment of partition \S+ (?:is|completed|failed)|"
                   r"Current partition replica assignment|Proposed partition reassignment configuration"),
    ),
    ("kafka-transactions", re.compile(r"TransactionalId\s+(?:Coordinator|ProducerId)|ProducerId\s+ProducerEpoch\s")),
    ("kafka-features", re.compile(r"Feature: \S+\s+SupportedMinVersion:")),
    ("kafka-leader-election", re.compile(r"(?:Successfully completed|Valid replica already elected|Error completing) "
                                         r".*(?:leader election|partitions)")),
)  # fmt: skip


class UnusedFormat:
    """Counts the lines of these outputs by the tool that prints them."""

    name = "other tools"

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is of one of these tools."""
        tool = next((name for name, pattern in _FORMATS if pattern.match(line.text)), None)
        if tool is not None:
            self._gathered.unused[tool] += 1
        return tool is not None

    def finish(self) -> None:
        """Nothing is kept open."""
