"""Errors of Kafka in the wordings of its clients: their names, their sentences, and those of librdkafka and Sarama."""

from __future__ import annotations

import re
from typing import Final

LEADER_ERRORS: Final = frozenset({5, 6, 19, 20})
COORDINATOR_ERRORS: Final = frozenset({14, 15, 16, 88})
_WORDINGS: Final = {
    3: ("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition", "Unknown topic or partition"),
    5: (
        "LEADER_NOT_AVAILABLE",
        "There is no leader for this topic-partition as we are in the middle of a leadership election",
        "Broker: Leader not available",
        "there is currently no leader for this partition",
    ),
    6: ("NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_FOR_PARTITION", "Broker: Not leader for partition"),
    14: (
        "COORDINATOR_LOAD_IN_PROGRESS",
        "The coordinator is loading and hence can't process requests",
        "Broker: Coordinator load in progress",
        "Broker: Group coordinator load in progress",
    ),
    15: (
        "COORDINATOR_NOT_AVAILABLE",
        "CoordinatorNotAvailableException",
        "The coordinator is not available",
        "The group coordinator is not available",
        "Broker: Coordinator not available",
        "Broker: Group coordinator not available",
        "Offset's topic has not yet been created",
        "coordinator unavailable",
    ),
    16: (
        "NOT_COORDINATOR",
        "This is not the correct coordinator",
        "Broker: Not coordinator",
    ),
    19: ("NOT_ENOUGH_REPLICAS", "fewer in-sync replicas than required"),
    20: ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "written to the log, but to fewer in-sync replicas than required"),
    88: ("UNSTABLE_OFFSET_COMMIT", "There are unstable offsets that need to be cleared"),
}
#: Longest wording first: one name may begin with another.
_BY_WORDING: Final = {wording.lower(): code for code, wordings in _WORDINGS.items() for wording in wordings}
_ANY: Final = re.compile("|".join(re.escape(w) for w in sorted(_BY_WORDING, key=len, reverse=True)), re.IGNORECASE)


def error_code(text: str) -> int | None:
    """Returns the code of the first error that a line names, or None."""
    found = _ANY.search(text)
    return _BY_WORDING[found[0].lower()] if found is not None else None
