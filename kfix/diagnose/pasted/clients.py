"""Errors of producers and consumers: which group or topic they are about, in the layout of each client library."""

from __future__ import annotations

import re
from typing import Final

from kfix.diagnose.pasted.entries import LogEntry
from kfix.diagnose.pasted.errors import COORDINATOR_ERRORS, UNSTABLE, error_code
from kfix.diagnose.pasted.gathered import Gathered
from kfix.diagnose.pasted.kcat import LOOPBACK
from kfix.diagnose.pasted.signs import (
    CONNECTION,
    DISCOVERED,
    GROUP,
    METADATA,
    PAIR,
    TOPIC,
    UNAVAILABLE,
    UNNAMED,
)

NAME: Final = "client log"
_NOT_AVAILABLE: Final = 15
_PARTITIONS: Final = re.compile(r"\[(?P<all>[\w.-]+-\d+(?:, ?[\w.-]+-\d+)*)\]")


def client_error(entry: LogEntry, gathered: Gathered) -> bool:
    """Returns whether a client reports an error about a group, a topic or a broker, or that an error has ended."""
    if _metadata(entry, gathered) or _connection(entry, gathered):
        return True
    group, code = named(GROUP, entry.text), error_code(entry.text)
    if group and DISCOVERED.search(entry.text):
        gathered.groups.setdefault(group, "")
        gathered.discovered(group, entry.line, entry.at)
        return True
    if group and UNAVAILABLE.search(entry.text):
        code = _NOT_AVAILABLE if code is None else code
    if code is None:
        return False
    about = _about(code, group, entry)
    name = group if about in {"group", "unstable"} else named(TOPIC, entry.text)
    if not name and not UNNAMED.search(entry.text):
        return False
    detail = found["all"] if (found := _PARTITIONS.search(entry.text)) and about == "unstable" else ""
    gathered.complain(about, name, code, entry.line, at=entry.at, detail=detail)
    return True


def _about(code: int, group: str, entry: LogEntry) -> str:
    if code == UNSTABLE:
        return "unstable"
    return "group" if code in COORDINATOR_ERRORS and (group or UNNAMED.search(entry.text)) else "topic"


def _metadata(entry: LogEntry, gathered: Gathered) -> bool:
    """Reads a broker's answer about several topics, as the Java client prints it."""
    answer = METADATA.search(entry.text)
    if answer is None:
        return False
    known = False
    for pair in PAIR.finditer(answer["pairs"].replace(", ", ",")):
        if (code := error_code(pair["error"])) is not None:
            gathered.complain("topic", pair["topic"], code, entry.line, at=entry.at)
            known = True
    return known


def _connection(entry: LogEntry, gathered: Gathered) -> bool:
    found = CONNECTION.search(entry.text)
    if found is None:
        return False
    kind = "advertised" if LOOPBACK.match(found["host"]) else "unreachable"
    detail = f"{found['host']}:{found['port']}"
    gathered.complain(kind, "", -1, entry.line, at=entry.at, broker=int(found["broker"]), detail=detail)
    return True


def named(pattern: re.Pattern[str], text: str) -> str:
    """Returns the first name that the pattern finds, "" if there is none."""
    found = pattern.search(text)
    return next((name for name in found.groups() if name), "") if found is not None else ""
