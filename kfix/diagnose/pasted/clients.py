"""Errors of producers and consumers: which group or topic they are about, in the layout of each client library."""

from __future__ import annotations

import re
from typing import Final

from kfix.diagnose.pasted.entries import LogEntry
from kfix.diagnose.pasted.gathered import Gathered
from kfix.diagnose.pasted.kcat import LOOPBACK
from kfix.diagnose.pasted.signs import (
    CONNECTION,
    DISCOVERED,
    GROUP,
    LATE_COMMIT,
    METADATA,
    OPENING,
    PAIR,
    REBALANCING,
    REFUSED,
    SLOW_POLL,
    TOPIC,
    UNAVAILABLE,
    UNNAMED,
)

# Errors of Kafka in the wordings of its clients: their names, their classes, and their sentences.

LEADER_ERRORS: Final = frozenset({5, 6, 19, 20})
COORDINATOR_ERRORS: Final = frozenset({14, 15, 16, 88})
UNSTABLE: Final = 88
#: Names as `_`-separated words, which clients also write as one word, with blanks or hyphens; then whole sentences.
_WORDINGS: Final = {
    3: ("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition"),
    5: (
        "LEADER_NOT_AVAILABLE",
        "There is no leader for this topic-partition as we are in the middle of a leadership election",
        "there is currently no leader for this partition",
        "found some partitions to be leaderless",
    ),
    6: (
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_LEADER_FOR_PARTITION",
        "NOT_LEADER_OR_REPLICA",
        "not the leader for",
        "this error indicates that the broker is not the current leader",
    ),
    14: (
        "COORDINATOR_LOAD_IN_PROGRESS",
        "GROUP_LOAD_IN_PROGRESS",
        "The coordinator is loading and hence can't process requests",
        "The broker is still loading offsets after a leader change",
    ),
    15: (
        "COORDINATOR_NOT_AVAILABLE",
        "CONSUMER_COORDINATOR_NOT_AVAILABLE",
        "The coordinator is not available",
        "The group coordinator is not available",
        "Offset's topic has not yet been created",
        "coordinator unavailable",
    ),
    16: (
        "NOT_COORDINATOR",
        "NOT_COORDINATOR_FOR_GROUP",
        "This is not the correct coordinator",
        "a consumer group that is not coordinated by this broker",
    ),
    19: (
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_IN_SYNC_REPLICAS",
        "fewer in-sync replicas than required",
    ),
    20: (
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "written to the log, but to fewer in-sync replicas than required",
        "written to insufficient number of in-sync replicas",
    ),
    UNSTABLE: (
        "UNSTABLE_OFFSET_COMMIT",
        "There are unstable offsets that need to be cleared",
        "still have unstable offsets which are not cleared on the broker side",
    ),
}
#: (words, pattern, code) of each wording: looking for words is far quicker than for a pattern, and most have none.
_SOUGHT: Final = tuple(
    (tuple(w.lower().split("_")), re.compile(re.escape(w).replace("_", "[ _-]?"), re.IGNORECASE), code)
    for code, wordings in _WORDINGS.items()
    for w in wordings
)


def error_code(text: str) -> int | None:
    """Returns the code of the first error that a line names, or None; one name may begin with another."""
    lower = text.lower()
    found = (
        (match.start(), -match.end(), code)
        for words, pattern, code in _SOUGHT
        if all(map(lower.__contains__, words)) and (match := pattern.search(text))
    )
    return min(found, default=(0, 0, None))[2]


NAME: Final = "client log"
#: Errors that only a producer gets, so that they count as the cause of another exception, too.
_OF_PRODUCERS: Final = frozenset({19, 20})
_CAUSED: Final = "Caused by: org.apache.kafka.common.errors."
_NOT_AVAILABLE: Final = 15
_PARTITIONS: Final = re.compile(r"\[(?P<all>[\w.-]+-\d+(?:, ?[\w.-]+-\d+)*)\]")


def client_error(entry: LogEntry, gathered: Gathered) -> bool:
    """Returns whether a client reports an error about a group, a topic or a broker, or that an error has ended."""
    if _metadata(entry, gathered) or _connection(entry, gathered):
        return True
    code, discovered = error_code(entry.text), DISCOVERED.search(entry.text)
    unavailable, slow = UNAVAILABLE.search(entry.text), SLOW_POLL.search(entry.text)
    rebalancing, late = REBALANCING.search(entry.text), LATE_COMMIT.search(entry.text)
    if code is None and not (discovered or unavailable or slow or rebalancing or late):
        return False
    group = named(GROUP, entry.text)
    if group and discovered:
        gathered.groups.setdefault(group, "")
        gathered.discovered(group, entry.line, entry.at)
        return True
    if slow and "GroupCoordinator" not in entry.text:
        gathered.complain("slow poll", group, -1, entry.line, at=entry.at)
        return True
    if group and (rebalancing or late):
        about, detail = ("rebalancing", "") if rebalancing else ("late commit", late["detail"] if late else "")
        gathered.complain(about, group, -1, entry.line, at=entry.at, detail=detail)
        return True
    return _coded(_NOT_AVAILABLE if group and unavailable and code is None else code, group, entry, gathered)


def _coded(code: int | None, group: str, entry: LogEntry, gathered: Gathered) -> bool:
    """Returns whether the client names what its error is about, or prints it as an object."""
    if code is None:
        return False
    about = _about(code, group, entry)
    name = group if about in {"group", "unstable"} else named(TOPIC, entry.text)
    if not name and not UNNAMED.search(entry.text) and not (code in _OF_PRODUCERS and _CAUSED in entry.text):
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


#: What `CONNECTION`, `OPENING` and `REFUSED` contain.
_OF_CONNECTIONS: Final = ("onnect", "isconnected", "Failed to resolve", "dial tcp", "ECONNREFUSED", "brokers are down")


def _connection(entry: LogEntry, gathered: Gathered) -> bool:
    if not any(map(entry.text.__contains__, _OF_CONNECTIONS)):
        return False
    found = CONNECTION.search(entry.text) or OPENING.search(entry.text)
    if found is None:
        address = named(REFUSED, entry.text)
        if address:
            gathered.complain("unreachable", "", -1, entry.line, at=entry.at, detail=address)
        return bool(address)
    kind = "advertised" if LOOPBACK.match(found["host"]) else "unreachable"
    detail = f"{found['host']}:{found['port']}"
    gathered.complain(kind, "", -1, entry.line, at=entry.at, broker=int(found["broker"]), detail=detail)
    return True


def named(pattern: re.Pattern[str], text: str) -> str:
    """Returns the first name that the pattern finds, "" if there is none."""
    found = pattern.search(text)
    return next((name for name in found.groups() if name), "") if found is not None else ""
