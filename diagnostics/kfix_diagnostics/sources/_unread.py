"""Which failed sources leave something unknown, and what. A dead broker that does not answer is no riddle."""

from __future__ import annotations

import re

from kfix.derive.casefile import CaseFile
from kfix.model.cluster.snapshot import Source

_BROKER = re.compile(r"\bbroker ([0-9]{1,10})\b")
_LEAVES_OPEN = {
    "zookeeper": "partition states, registrations and the controller: whether ZooKeeper and the brokers disagree",
    "znode": "what this record says: whether ZooKeeper and the brokers disagree about it",
    "znodes": "what these records say: whether ZooKeeper and the brokers disagree about them",
    "broker": "what this broker believes: whether its metadata is stale",
    "coordinator": "whether coordinators answer, and so which groups are blocked",
    "offset": "whether coordinators on this broker answer",
    "groups": "which groups have this broker as coordinator",
    "topic": "min.insync.replicas of topics: whether producers with acks=all fail",
    "configs": "this broker's defaults",
    "log": "how long this broker's logs are: what an unclean election would lose",
    "reassignments": "whether a reassignment is stuck",
    "list": "who is alive, and whether ZooKeeper and the brokers agree: judged is only what the text shows",
}


def unread(case: CaseFile) -> tuple[Source, ...]:
    return tuple(s for s in case.failed_sources if not _told_otherwise(s.name, case))


def leaves_open(name: str) -> str:
    return _LEAVES_OPEN.get(name.split(" ", 1)[0], "what this source would have told")


def broker_of(name: str) -> int | None:
    """The broker behind a source such as `broker 2` or `log ends broker 2`."""
    found = _BROKER.search(name)
    return int(found[1]) if found else None


def _told_otherwise(name: str, case: CaseFile) -> bool:
    broker = broker_of(name)
    if broker is not None:
        return case.live is not None and broker not in case.live
    if name.startswith("topic configs"):
        return case.topic_configs_read
    # One bootstrap server of several that is down costs nothing: its broker is asked, or known to be dead.
    return name.startswith("bootstrap") and bool(case.views)
