"""The columns of a stored partition: its facts, and beside them the raw state that a finding's description needs.

Columns are added, never renamed and never given another type. A reader asks for columns by name, ignores those that it
does not know, and fills those that an older file lacks from `ABSENT`; any other gap is one error that names file and
column. All integers are 64 bits wide: they cost nothing on disk, and become Python's integers in one copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from kfix.derive.partition_facts import FACT_TYPES
from kfix.errors import UsageError

#: Of the layout (`<root>/v1/...`) and of the files.
VERSION: Final = 1
_TYPES: Final = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}
_INTS: Final = pa.list_(pa.int64())

FACTS: Final = pa.schema([pa.field(n, _TYPES[t], nullable=False) for n, t in FACT_TYPES.items()])
#: `state_*` is ZooKeeper's record, null where there is none; `replicas`, `adding`, `removing` its assignment.
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
#: `seen_*` is what the first broker believes that knows the partition: all null where none does, a list that is null is
#: ZooKeeper's. `seen_others` is JSON, the brokers that believe something else: {broker: null (knows it not) | a row}.
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
#: `sample`: the first row with its leader and its members of the isr. The samples stand for all rows where a check asks
#: who is in sync with whom.
SAMPLE: Final = "sample"
PARTITIONS: Final = pa.schema([*FACTS, *STATE, *SEEN, pa.field(SAMPLE, pa.bool_(), nullable=False)])
#: Columns newer than the first release of the format, and what a file without them means.
ABSENT: Final[Mapping[str, bool | int | str | None]] = {}


def missing(name: str, place: str) -> UsageError:
    return UsageError(
        f"{place}: has no column {name!r}: it is no file of kfix, or one of another version",
        hint="collect the cluster again, or use the kfix that wrote it",
    )


def present(found: Any, wanted: Iterable[str], place: str) -> list[str]:
    """Those of `wanted` that the file has. UsageError where one is missing that may not be, or has another type."""
    has = []
    for name in wanted:
        at = found.get_field_index(name)
        if at < 0:
            if name not in ABSENT:
                raise missing(name, place)
            continue
        kind = found.field(at).type
        if kind != PARTITIONS.field(name).type and not _same_list(kind, PARTITIONS.field(name).type):
            raise UsageError(f"{place}: column {name!r} is {kind}, {PARTITIONS.field(name).type} is wanted")
        has.append(name)
    return has


def completed(table: Any, wanted: Iterable[str]) -> list[Any]:
    """The columns of `wanted`, in its order; what the file lacks is filled with what that means."""
    return [
        table.column(name)
        if table.schema.get_field_index(name) >= 0
        else pa.chunked_array([pa.repeat(pa.scalar(ABSENT[name], PARTITIONS.field(name).type), table.num_rows)])
        for name in wanted
    ]


def _same_list(one: Any, other: Any) -> bool:
    """Other writers call the items of a list `item`, pyarrow calls them `element`."""
    return bool(pa.types.is_list(one) and pa.types.is_list(other) and one.value_type == other.value_type)
