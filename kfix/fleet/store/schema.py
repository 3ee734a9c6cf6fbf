"""The columns of a stored partition: its facts, and the raw state that the text of a finding needs.

Columns are added, never renamed, and never change their type. A reader asks for columns by name, ignores unknown ones,
and takes the value of a column that an older file lacks from `ABSENT` or `INSTEAD`; any other missing one is an error
that names file and column. All integers have 64 bits: this costs nothing on disk and allows copying them in bulk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from kfix.core.derive.partition_facts import NEWER, PartitionFacts
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
