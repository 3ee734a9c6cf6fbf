"""The columns of a stored partition: its facts, and the raw state that the text of a finding needs.

Columns are added, never renamed, and never change their type. A reader asks for columns by name, ignores unknown ones,
and takes the value of a column that an older file lacks from `ABSENT` or `INSTEAD`; any other missing one is an error
that names file and column. All integers have 64 bits: this costs nothing on disk and allows copying them in bulk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from kfix.core.derive.partition_facts import FACT_TYPES, NEWER
from kfix.core.errors import UsageError
from kfix.fleet.store.spec import INTS, Column

#: The version of a cluster's document.
VERSION: Final = 1
_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
_TYPES: Final = {bool: _FLAG, int: _INT, str: _TEXT}
#: Fact -> (comment, unit). No fact is ever null: -1 is unknown, -2 means that no source names one.
_FACTS: Final[Mapping[str, tuple[str, str]]] = {
    "topic": ("the topic", ""),
    "partition": ("the number of the partition", ""),
    "leader": (
        "the leader by ZooKeeper's record, else by the view with the highest epoch; -1 none, -2 unknown",
        "broker id",
    ),
    "leaderless": ("there is no leader, or one that is known to be dead", ""),
    "leader_live": ("the leader is alive", ""),
    "leader_in_isr": ("the leader is in the ISR", ""),
    "leader_epoch": ("the leader epoch of the newest view; -2 if no broker knows the partition", "epoch"),
    "view_leader": ("the leader of the same view", "broker id"),
    "preferred": ("the preferred leader, the first replica; -1 if there is no assignment", "broker id"),
    "preferred_in_live_isr": ("the preferred leader is alive and in the ISR", ""),
    "n_replicas": ("assigned replicas", "replicas"),
    "n_isr": ("members of the ISR", "replicas"),
    "n_live_replicas": ("assigned replicas on live brokers; -1 unknown", "replicas"),
    "n_live_isr": ("members of the ISR on live brokers; -1 unknown", "replicas"),
    "n_unknown_replicas": ("replicas on broker ids that no longer exist", "replicas"),
    "target_rf": ("the replication factor once a reassignment has ended", "replicas"),
    "advised_rf": ("the replication factor that the number of brokers allows, at most 3", "replicas"),
    "n_racks": ("racks with a replica", "racks"),
    "racks_known": ("the racks of all replicas are known", ""),
    "cluster_racks": ("racks of the cluster", "racks"),
    "min_isr": ("min.insync.replicas of the topic; -1 not read", "replicas"),
    "unclean": ("unclean.leader.election.enable of the topic", ""),
    "unclean_known": ("that setting was read", ""),
    "internal": ("an internal topic of Kafka", ""),
    "offsets": ("a partition of __consumer_offsets", ""),
    "reassigning": ("a reassignment is in progress", ""),
    "deleting": ("the topic is being deleted", ""),
    "zk_known": ("ZooKeeper's record was read and is the authority", ""),
    "zk_leader": ("the leader in ZooKeeper's record", "broker id"),
    "zk_leader_epoch": ("the leader epoch in ZooKeeper's record", "epoch"),
    "zk_version": ("the version of the znode: how often leader or ISR changed", "writes"),
    "zk_agrees": ("ZooKeeper's record agrees with the newest view", ""),
    "n_views": ("brokers that responded and know the partition", "brokers"),
    "views_agree": ("they all name the same leader and epoch", ""),
    "liveness_known": ("it is known which brokers are alive", ""),
    "state_age": ("since the znode was written; -1 unknown", "s"),
    "stable_for": ("how long the row has been like this, at least; -1 unknown", "s"),
    "n_online_isr": ("members of the ISR on live brokers whose log directories work; -1 unknown", "replicas"),
    "n_failed_replicas": ("replicas in failed log directories of live brokers; -1 unknown", "replicas"),
    "zk_lacks": ("brokers know the partition, and ZooKeeper, which is the authority, has no state of it", ""),
    "replicas_agree": ("ZooKeeper and the newest view name the same replicas, or they are being reassigned", ""),
}
_NO_RECORD: Final = "ZooKeeper has no record, or was not read"
_NOT_SEEN: Final = "no broker knows the partition"
#: ZooKeeper's assignment, and its partition state: `state_*`, null if there is none.
_STATE: Final = (
    Column("replicas", INTS, "assigned replicas, the preferred leader first", "broker ids", "no assignment was read"),
    Column("adding", INTS, "replicas that a reassignment adds", "broker ids", "none"),
    Column("removing", INTS, "replicas that a reassignment removes", "broker ids", "none"),
    Column("state_leader", _INT, "the leader in ZooKeeper's record, -1 for none", "broker id", _NO_RECORD),
    Column("state_epoch", _INT, "the leader epoch in ZooKeeper's record", "epoch", _NO_RECORD),
    Column("state_isr", INTS, "the ISR in ZooKeeper's record", "broker ids", _NO_RECORD),
    Column("state_controller_epoch", _INT, "the epoch of the controller that wrote the record", "epoch", _NO_RECORD),
    Column("state_version", _INT, "the version of the znode", "writes", _NO_RECORD),
    Column("state_mzxid", _INT, "ZooKeeper's transaction that wrote the record", "zxid", _NO_RECORD),
    Column("state_mtime_ms", _INT, "when the record was written", "ms since the epoch", _NO_RECORD),
)
#: The view of the first broker that knows the partition: all null if none does; a null list equals ZooKeeper's.
_SEEN: Final = (
    Column("seen_leader", _INT, "the leader by the first broker that knows the partition", "broker id", _NOT_SEEN),
    Column("seen_epoch", _INT, "the leader epoch by the same broker", "epoch", _NOT_SEEN),
    Column("seen_replicas", INTS, "the replicas by the same broker", "broker ids", "as in `replicas`, or not seen"),
    Column("seen_isr", INTS, "the ISR by the same broker", "broker ids", "as in `state_isr`, or not seen"),
    Column("seen_offline", INTS, "offline replicas by the same broker", "broker ids", "none"),
    Column("seen_error", _INT, "the error code in the metadata of the same broker", "Kafka error code", _NOT_SEEN),
    Column("seen_others", _TEXT, "brokers with another view, JSON: {broker: row, or null}", "", "all agree"),
)
#: The samples represent all rows in checks that ask which brokers are in sync with each other.
SAMPLE: Final = "sample"
#: Partitions with the same number have the same fate in any failure.
FATE_STATE: Final = "state"
#: The columns of the table `partitions` after the cluster's name: the only declaration of what is stored of one.
PARTITION_COLUMNS: Final = (
    *(Column(name, _TYPES[kind], *_FACTS[name]) for name, kind in FACT_TYPES.items()),
    *_STATE,
    *_SEEN,
    Column(SAMPLE, _FLAG, "the first row of the cluster with its combination of leader and ISR members"),
    Column(
        FATE_STATE,
        _INT,
        "its row in `partition_states`; -1 if no source has both leader and ISR",
        "",
        "being deleted, or the cluster has no rows there",
    ),
)
PARTITIONS: Final = pa.schema([column.field.remove_metadata() for column in PARTITION_COLUMNS])
#: The columns that hold the raw state of a partition.
RAW_NAMES: Final = tuple(column.name for column in (*_STATE, *_SEEN))
#: Columns that are newer than the first release of the format, with the value that a file without them implies.
ABSENT: Final[Mapping[str, bool | int | str | None]] = {n: v for n, v in NEWER.items() if not isinstance(v, str)}
#: Columns that are newer as well, with the older one that has their values in a file without them.
INSTEAD: Final[Mapping[str, str]] = {n: v for n, v in NEWER.items() if isinstance(v, str)}


def missing(name: str, place: str) -> UsageError:
    return UsageError(
        f"{place}: has no column {name!r}: not a file of kfix, or written by another version",
        hint="collect the cluster again, or use the version of kfix that wrote the file",
    )


def present(found: Any, wanted: Iterable[str], place: str) -> list[str]:
    """Returns the columns of `wanted` that the file has, and those that it has instead.

    Raises UsageError if a required column is missing or a column has another type.
    """
    has = []
    for each in wanted:
        name = INSTEAD[each] if each in INSTEAD and found.get_field_index(each) < 0 else each
        at = found.get_field_index(name)
        if at < 0:
            if name not in ABSENT:
                raise missing(name, place)
            continue
        kind = found.field(at).type
        if kind != PARTITIONS.field(name).type and not _same_list(kind, PARTITIONS.field(name).type):
            raise UsageError(f"{place}: column {name!r} is {kind}, expected {PARTITIONS.field(name).type}")
        has.append(name)
    return list(dict.fromkeys(has))


def completed(table: Any, wanted: Iterable[str]) -> list[Any]:
    """Returns the columns of `wanted`, in that order; missing ones are filled from `INSTEAD` and `ABSENT`."""
    return [_completed(table, name) for name in wanted]


def _completed(table: Any, name: str) -> Any:
    found = next((each for each in (name, INSTEAD.get(name, "")) if table.schema.get_field_index(each) >= 0), None)
    if found is not None:
        return table.column(found)
    return pa.chunked_array([pa.repeat(pa.scalar(ABSENT[name], PARTITIONS.field(name).type), table.num_rows)])


def _same_list(one: Any, other: Any) -> bool:
    """Compares list types by their values: other writers name the items `item`, pyarrow names them `element`."""
    return bool(pa.types.is_list(one) and pa.types.is_list(other) and one.value_type == other.value_type)
