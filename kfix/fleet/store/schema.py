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

#: The version of a cluster's document.
VERSION: Final = 1
_TYPES: Final = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}
_INTS: Final = pa.list_(pa.int64())

FACTS: Final = pa.schema([pa.field(n, _TYPES[t], nullable=False) for n, t in FACT_TYPES.items()])
#: `state_*` is ZooKeeper's partition state, null if there is none; `replicas`, `adding`, `removing` its assignment.
STATE: Final = pa.schema(
    [
        pa.field("replicas", _INTS),
        pa.field("adding", _INTS),
        pa.field("removing", _INTS),
        pa.field("state_leader", pa.int64()),
        pa.field("state_epoch", pa.int64()),
        pa.field("state_isr", _INTS),
        pa.field("state_controller_epoch", pa.int64()),
        pa.field("state_version", pa.int64()),
        pa.field("state_mzxid", pa.int64()),
        pa.field("state_mtime_ms", pa.int64()),
    ]
)
#: `seen_*` is the view of the first broker that knows the partition: all null if none does; a null list equals
#: ZooKeeper's. `seen_others` is JSON, the brokers with another view: {broker: null (does not know it) | a row}.
SEEN: Final = pa.schema(
    [
        pa.field("seen_leader", pa.int64()),
        pa.field("seen_epoch", pa.int64()),
        pa.field("seen_replicas", _INTS),
        pa.field("seen_isr", _INTS),
        pa.field("seen_offline", _INTS),
        pa.field("seen_error", pa.int64()),
        pa.field("seen_others", pa.string()),
    ]
)
#: `sample` is true for the first row with each combination of leader and ISR members. The samples represent all rows
#: in checks that ask which brokers are in sync with each other.
SAMPLE: Final = "sample"
#: The number of its row in `partition_states`: partitions with the same number have the same fate in any failure.
FATE_STATE: Final = "state"
PARTITIONS: Final = pa.schema(
    [*FACTS, *STATE, *SEEN, pa.field(SAMPLE, pa.bool_(), nullable=False), pa.field(FATE_STATE, pa.int64())]
)
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
