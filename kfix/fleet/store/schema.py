"""The columns of a stored partition: its facts, and the raw state that the text of a finding needs.

A reader asks for columns by name and ignores unknown ones; a missing one is an error that names file and column. All
integers have 64 bits: this costs nothing on disk and allows copying them in bulk.
"""

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.errors import UsageError
from kfix.fleet.store.spec import INTS, Column, columns_of

#: The version of a cluster's document.
VERSION: Final = 1
_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
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
    *columns_of(PartitionFacts),
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


def missing(name: str, place: str) -> UsageError:
    return UsageError(
        f"{place}: has no column {name!r}: not a file of kfix, or written by another version",
        hint="collect the cluster again, or use the version of kfix that wrote the file",
    )


def check_present(found: Any, wanted: Iterable[str], place: str) -> None:
    """Raises UsageError if a column of `wanted` is missing or has another type."""
    for name in wanted:
        at = found.get_field_index(name)
        if at < 0:
            raise missing(name, place)
        kind = found.field(at).type
        if kind != PARTITIONS.field(name).type and not _same_list(kind, PARTITIONS.field(name).type):
            raise UsageError(f"{place}: column {name!r} is {kind}, expected {PARTITIONS.field(name).type}")


def _same_list(one: Any, other: Any) -> bool:
    """Compares list types by their values: other writers name the items `item`, pyarrow names them `element`."""
    return bool(pa.types.is_list(one) and pa.types.is_list(other) and one.value_type == other.value_type)
