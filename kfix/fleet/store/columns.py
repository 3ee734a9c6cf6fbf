"""Reads the partitions of one cluster column by column, on demand. No value becomes a Python object unasked."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.fleet.store.footers import parquet_file
from kfix.fleet.store.places import StoreLocation, readable_errors
from kfix.fleet.store.schema import PARTITIONS, check_present, missing

_TOPIC = "topic"


class Columns:
    """The columns of the row groups `groups` of a file of `partitions`; None: of all.

    `first` are read together at the start. The file is opened when something of it is first needed.
    """

    def __init__(self, place: StoreLocation, first: Iterable[str], groups: Sequence[int] | None = None) -> None:
        self._place = place
        self._groups = groups
        self._known: dict[str, Any] = {}
        self.read(first)

    @cached_property
    def _file(self) -> Any:
        with readable_errors(self._place):
            try:
                return parquet_file(self._place, read_dictionary=[_TOPIC], pre_buffer=not self._place.local)
            except KeyError:
                raise missing(_TOPIC, str(self._place)) from None

    @cached_property
    def rows(self) -> int:
        metadata = self._file.metadata
        chosen = range(metadata.num_row_groups) if self._groups is None else self._groups
        return sum(metadata.row_group(i).num_rows for i in chosen)

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self.read([name])
        return self._known[name]

    def table(self, names: Sequence[str]) -> Any:
        """Returns these columns as a pyarrow table."""
        self.read(names)
        return pa.table({name: self._known[name] for name in names})

    def read(self, names: Iterable[str]) -> None:
        wanted = [n for n in dict.fromkeys(names) if n not in self._known]
        if not wanted:
            return
        check_present(self._schema, wanted, str(self._place))
        with readable_errors(self._place):
            table = (
                self._file.read(columns=wanted, use_threads=False)
                if self._groups is None
                else self._file.read_row_groups(self._groups, columns=wanted, use_threads=False)
            )
        for name in wanted:
            values = _whole(table.column(name), name, str(self._place))
            with readable_errors(self._place):
                # A changed byte may leave text that is not UTF-8, which only its use would find.
                values.validate(full=True)
            self._known[name] = values

    @cached_property
    def _schema(self) -> Any:
        with readable_errors(self._place):
            return self._file.schema.to_arrow_schema()

    def taken(self, names: Sequence[str], rows: Sequence[int]) -> list[list[Any]]:
        """Returns the values of some rows, one list per column."""
        self.read(names)
        batch = pa.RecordBatch.from_arrays([self._known[n] for n in names], names=[*names])
        return [c.to_pylist() for c in batch.take(pa.array(rows, pa.int64())).columns]

    def sliced(self, names: Sequence[str], start: int, count: int) -> list[list[Any]]:
        self.read(names)
        return [python(self._known[n].slice(start, count)) for n in names]

    def row_of(self, tp: TopicPartition) -> int | None:
        """Returns the row of a partition by binary search, None if the file does not have it.

        The file is sorted by topic and partition.
        """
        start, end = self._topics.get(tp.topic, (0, 0))
        numbers = self["partition"]
        guess = start + tp.partition
        if start <= guess < end and numbers[guess].as_py() == tp.partition:
            return guess
        at = bisect_left(range(end), tp.partition, lo=start, key=lambda i: numbers[i].as_py())
        return at if at < end and numbers[at].as_py() == tp.partition else None

    @cached_property
    def _topics(self) -> dict[str, tuple[int, int]]:
        """Topic -> its rows [from, to)."""
        ends = pc.run_end_encode(self[_TOPIC].cast(pa.string()))
        names, stops = ends.values.to_pylist(), ends.run_ends.to_pylist()
        return {n: (start, stop) for n, start, stop in zip(names, [0, *stops], stops, strict=False)}


def python(values: Any) -> list[Any]:
    """Returns a column as Python values; numbers are copied in bulk, which is several times faster than one by one."""
    if values.type == pa.int64() and not values.null_count and len(values):
        raw = memoryview(values.buffers()[1]).cast("q")
        return raw[values.offset : values.offset + len(values)].tolist()
    if values.type == pa.bool_() and not values.null_count and len(values):
        bits = pc.cast(values, pa.int8())
        flags = memoryview(bits.buffers()[1]).cast("?")
        return flags[bits.offset : bits.offset + len(values)].tolist()
    found: list[Any] = values.to_pylist()
    return found


def _whole(column: Any, name: str, place: str) -> Any:
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
    if values.null_count and not PARTITIONS.field(name).nullable:
        raise UsageError(f"{place}: column {name!r} has rows without a value", hint="collect the cluster again")
    return values
