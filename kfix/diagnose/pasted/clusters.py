"""Texts about several clusters: kfix separates their outputs before it reads anything, and never merges them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kfix.diagnose.pasted.commands import command_of
from kfix.diagnose.pasted.lines import PastedLine

_HEAD: Final = re.compile(r"Metadata for .*\(from broker|Topic: ?\S+\s+TopicId:|ClusterId:\s|\{\"originating_broker\"")
#: What differs between clusters: {what: its value}. Any cluster may advertise localhost.
_MARKS: Final = (
    re.compile(r"(?P<what>ClusterId):\s+(?P<value>[\w-]{16,40})$"),
    re.compile(r"Topic: ?(?P<what>\S+)\s+TopicId: ?(?P<value>[\w-]{22})\b"),
    re.compile(r"(?P<what>broker \d+) at (?!localhost:|127\.|\[?::1)(?P<value>\S+:\d+)(?: \(controller\))?$"),
)


def split_clusters(lines: Sequence[PastedLine]) -> list[list[PastedLine]]:
    """Returns the lines by cluster, in order of the text; an output that names none belongs to the previous cluster."""
    found: list[tuple[dict[str, str], list[PastedLine]]] = [({}, [])]
    for part in _parts(lines):
        marks = {m["what"]: m["value"] for line in part for mark in _MARKS if (m := mark.match(line.text))}
        mine = found[-1]
        if marks:
            known = [each for each in found if each[0] and _same(each[0], marks)]
            fresh = [each for each in found if not each[0]]
            mine = next(iter(known or fresh), ({}, []))
            if mine not in found:
                found.append(mine)
            mine[0].update(marks)
        mine[1].extend(part)
    return [part for _, part in found if part]


def _same(one: dict[str, str], other: dict[str, str]) -> bool:
    """Returns whether nothing that both name differs; if they name nothing in common, they may be one cluster."""
    return all(one[what] == other[what] for what in one.keys() & other.keys())


def _parts(lines: Sequence[PastedLine]) -> list[list[PastedLine]]:
    """Returns the lines in parts that begin with a command or the head of an output."""
    parts: list[list[PastedLine]] = [[]]
    for line in lines:
        if parts[-1] and (_HEAD.match(line.text) or command_of(line) is not None):
            above = parts[-1]
            # A command belongs to the output below it.
            if not (len(above) == 1 and command_of(above[0]) is not None and _HEAD.match(line.text)):
                parts.append([])
        parts[-1].append(line)
    return parts
