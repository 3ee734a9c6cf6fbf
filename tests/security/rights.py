"""The least rights of kfix as data: of every request of a run that needs one besides those of a diagnosis.

`test_rights.py` compares them with the requests that the code sends, `tests/cluster/test_missing_rights.py` takes each
away on real brokers, `tests/cluster/test_least_rights.py` applies runbooks with exactly these; `docs/security.md` names
them by runbook.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.lab.definition.protocols import CLUSTER, Right
from tests import shipped

ALTER = Right("ALTER", "CLUSTER", CLUSTER)
OF_BROKERS = Right("ALTER_CONFIGS", "CLUSTER", CLUSTER)
OF_TOPICS = Right("ALTER_CONFIGS", "TOPIC")
READ_TOPICS, READ_GROUPS = Right("READ", "TOPIC"), Right("READ", "GROUP")
DELETE_GROUPS = Right("DELETE", "GROUP")
WRITE_TOPICS = Right("WRITE", "TOPIC")
#: Each of these permits to describe, too.
WRITE = Right("WRITE", "TRANSACTIONAL_ID")

CLUSTER_ACTION = Right("CLUSTER_ACTION", "CLUSTER", CLUSTER)

#: {action: the rights of its change, and of what its runbook reads of logs}. Each action of the registry is here.
OF_ACTIONS: Mapping[str, tuple[Right, ...]] = {
    "broker.unregister": (ALTER,),
    "compaction.hasten": (OF_TOPICS,),
    "compaction.restore": (OF_TOPICS,),
    "config.set": (OF_BROKERS, OF_TOPICS),
    "controller.reelect": (),
    "group.evict": (READ_TOPICS, READ_GROUPS),
    "leader.elect_isr": (ALTER,),
    "leader.elect_preferred": (ALTER,),
    "leader.elect_unclean": (ALTER,),
    "manual": (),
    "manual.bring_back": (),
    "manual.restart": (CLUSTER_ACTION,),
    "manual.upgrade": (CLUSTER_ACTION,),
    "offsets.commit": (READ_TOPICS, READ_GROUPS, DELETE_GROUPS),
    "offsets.roll": (READ_TOPICS, WRITE_TOPICS),
    "offsets.skip": (READ_TOPICS, READ_GROUPS),
    "offsets.tombstone": (READ_TOPICS, WRITE_TOPICS),
    "reassign.cancel": (ALTER,),
    "reassign.move": (ALTER,),
    "reassign.noop": (ALTER,),
    "reassign.reorder": (ALTER,),
    "retention.hold": (OF_TOPICS,),
    "retention.restore": (OF_TOPICS,),
    "throttle.rate": (OF_BROKERS,),
    "throttle.remove": (OF_BROKERS, OF_TOPICS),
    "throttle.replicas": (OF_TOPICS,),
    "throttle.restore": (OF_BROKERS, OF_TOPICS),
    "transaction.abort": (READ_TOPICS, WRITE),
    "transaction.end": (READ_TOPICS, CLUSTER_ACTION),
    "metadata_log.write": (),
    "voter.add": (ALTER,),
    "voter.remove": (ALTER,),
    "metadata_version.raise": (ALTER,),
    "node.restart": (CLUSTER_ACTION,),
    "node.upgrade": (CLUSTER_ACTION,),
    "wait": (),
}
#: The rights of an action whose argument `kind` names the resource that it changes.
OF_KINDS = {"topic": OF_TOPICS, "broker": OF_BROKERS}
#: {operation: the word of kafka-acls.sh}.
WORDS = {"ALTER": "Alter", "ALTER_CONFIGS": "AlterConfigs", "READ": "Read", "DELETE": "Delete", "WRITE": "Write"}
WORDS |= {"CLUSTER_ACTION": "ClusterAction"}
WORDS |= {"DESCRIBE": "Describe", "DESCRIBE_CONFIGS": "DescribeConfigs"}
_RESOURCES = {
    "CLUSTER": "the cluster",
    "TOPIC": "topics",
    "GROUP": "the group",
    "TRANSACTIONAL_ID": "the transactional id",
}


def of_action(action: str, kind: object = None) -> tuple[Right, ...]:
    """Returns the rights of an action; with its literal argument `kind`, those on resources of that kind."""
    rights = OF_ACTIONS[action]
    return tuple(right for right in rights if right == OF_KINDS[kind]) if kind in OF_KINDS else rights


def of_runbooks() -> dict[str, tuple[Right, ...]]:
    """Returns the rights of each built-in runbook besides those of a diagnosis, in the order of this file."""
    order = dict.fromkeys(right for rights in OF_ACTIONS.values() for right in rights)
    return {
        book.id: tuple(
            right for right in order if any(right in of_action(s.action, s.with_.get("kind")) for s in book.steps)
        )
        for book in shipped.runbooks().values()
    }


def words(right: Right) -> str:
    return f"`{WORDS[right.operation]}` on {_RESOURCES[right.resource]}"


def table() -> str:
    """Returns the table of docs/security.md."""
    grouped: dict[tuple[Right, ...], list[str]] = {}
    for book, rights in of_runbooks().items():
        grouped.setdefault(rights, []).append(book)
    rows = [
        f"| {', '.join(f'`{book}`' for book in books)} | {', '.join(map(words, rights)) or 'none'} |"
        for rights, books in sorted(grouped.items(), key=lambda each: each[1])
    ]
    return "\n".join(["| runbooks | rights besides the five |", "|---|---|", *rows])
