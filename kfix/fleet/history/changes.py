"""What changed in the partitions of one cluster between two snapshots, as rows of `partition_changes`. Pure.

Values that one of both snapshots does not show are not compared. The leader is the exception: a row says that it became
unknown, and another one what it is once it is known again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.fleet.store import history_tables as words
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.spec import INTS, TIME

#: The columns of `partitions` that show the state of a partition.
STATES: Final = (
    *("topic", "partition", "leader", "leader_epoch", "n_views", "replicas", "seen_replicas", "state_isr", "seen_isr"),
    *("state_version", "state_epoch", "state_mzxid", "state_mtime_ms"),
)
#: Those of them that are compared.
_COMPARED: Final = tuple(n for n in STATES if n not in {"partition", "n_views", "state_mtime_ms"})
#: The columns of `topics` that show which topic of its name it is.
IDENTITY: Final = ("topic", "czxid", "topic_id")
_NO_LEADER: Final = -1
Eligible = Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Observed:
    """The partitions of a cluster as a snapshot shows them, sorted by topic and partition: a pyarrow table of `STATES`
    and one of `IDENTITY`. `at_ms` is when it was taken, in ms since the epoch. `eligible` returns the eligible leader
    replicas of partitions without a leader.
    """

    at_ms: int
    states: Any
    topics: Any
    eligible: Callable[[], Eligible] = field(default=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of `partition_changes`, and the topics that were deleted and created again since the snapshot before."""

    rows: Any
    recreated: frozenset[str] = frozenset()


def changes(
    cluster: str, before: Observed | None, now: Observed, *, why: str = words.FIRST, record: int | None = None
) -> Found:
    """Returns the states that differ from the snapshot before; all with the reason `why` if there is none.

    A snapshot without any partition shows nothing. `record` is the number of a record of `kfix watch`.
    """
    if before is None or not before.states.num_rows or not now.states.num_rows:
        new = _known(now.states)
        reasons = pa.repeat(pa.scalar(why), new.num_rows)
        return Found(_rows(cluster, (new.slice(0, 0), new, reasons), (None, now), record))
    both = _aligned(before.states, now.states)
    others = _others(before.topics, now.topics)
    old, new = map(_known, _odd(*both, others))
    if again := others | _rejuvenated(before.topics, now.topics, old, new):
        old, new = map(_known, _odd(*both, again))
    if not old.num_rows:
        return Found(PARTITION_CHANGES.file_schema.empty_table())
    reasons = _reasons(old, new, again)
    changed = pc.is_valid(reasons)
    triple = (old.filter(changed), new.filter(changed), reasons.filter(changed))
    return Found(_rows(cluster, triple, (before, now), record), again)


def _odd(old: Any, new: Any, others: frozenset[str]) -> tuple[Any, Any]:
    """Returns the rows of both that are not equal in every column, and those of these topics."""
    masks = [_unequal(_one(old[name]), _one(new[name])) for name in _COMPARED]
    masks += [pc.is_in(new["topic"], value_set=pa.array([*others], pa.string()))] if others else []
    found = [mask for mask in masks if mask is not None]
    return (old.filter(_any(*found)), new.filter(_any(*found))) if found else (old.slice(0, 0), new.slice(0, 0))


def _unequal(old: Any, new: Any) -> Any:
    """Returns where two columns are not equal, None if they are."""
    if old.equals(new):
        return None
    one_is_null = pc.xor(pc.is_null(old), pc.is_null(new))
    differ = _lists_differ(old, new) if pa.types.is_list(old.type) else pc.not_equal(old, new)
    return _any(one_is_null, differ)


def _known(states: Any) -> Any:
    """Returns the state of each partition by whichever source shows it; null if none does."""
    column = {name: _one(states[name]) for name in STATES}
    shown = {name: pc.if_else(pc.greater(column[name], -2), column[name], None) for name in ("leader", "leader_epoch")}
    return pa.table(
        {
            "topic": column["topic"],
            "partition": column["partition"],
            "leader": shown["leader"],
            "epoch": pc.coalesce(column["state_epoch"], shown["leader_epoch"]),
            "isr": pc.coalesce(column["state_isr"], column["seen_isr"]),
            "replicas": pc.coalesce(column["replicas"], column["seen_replicas"]),
            "version": column["state_version"],
            "zxid": column["state_mzxid"],
            "written_ms": column["state_mtime_ms"],
            "record_epoch": column["state_epoch"],
            "view_epoch": shown["leader_epoch"],
            "views": column["n_views"],
        }
    )


def _one(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _aligned(old: Any, new: Any) -> tuple[Any, Any]:
    """Returns both tables with a row for each partition that either has; its other columns are null in the other one.

    A row of `old` that is not in `new` has a null topic there, and the other way round.
    """
    keys = ["topic", "partition"]
    old, new = (
        t.set_column(t.column_names.index("topic"), "topic", pc.cast(t["topic"], pa.string())) for t in (old, new)
    )
    if old.select(keys).equals(new.select(keys)):
        return old, new
    both = ((old, "old"), (new, "new"))
    sides = [t.select(keys).append_column(at, pa.array(range(t.num_rows), pa.int64())) for t, at in both]
    rows = (
        sides[0]
        .join(sides[1], keys, join_type="full outer", use_threads=False)
        .sort_by([(k, "ascending") for k in keys])
    )
    return old.take(_one(rows["old"])), new.take(_one(rows["new"]))


def _others(before: Any, now: Any) -> frozenset[str]:
    """Returns the topics that are others than before by their ids or the transactions that created them."""
    if before.equals(now):
        return frozenset()
    was = {topic: known for topic, *known in _tuples(before)}
    pairs = ((topic, zip(was.get(topic, known), known, strict=True)) for topic, *known in _tuples(now))
    return frozenset(t for t, pair in pairs if any(a is not None and b is not None and a != b for a, b in pair))


def _rejuvenated(before: Any, now: Any, old: Any, new: Any) -> frozenset[str]:
    """Returns the topics with a partition that got younger, unless id or transaction shows that they are the same."""
    younger = frozenset(pc.unique(new["topic"].filter(_younger(old, new))).to_pylist())
    if not younger:
        return younger
    was = {topic: known for topic, *known in _tuples(before)}
    pairs = ((topic, zip(was.get(topic, ()), known, strict=False)) for topic, *known in _tuples(now))
    return younger - {topic for topic, pair in pairs if any(a == b is not None for a, b in pair)}


def _tuples(topics: Any) -> Any:
    return zip(*(topics[name].to_pylist() for name in IDENTITY), strict=True)


def _younger(old: Any, new: Any) -> Any:
    """Returns which partitions cannot be those of before: epochs and versions only grow, and a record is written once
    with each version.
    """
    less = [pc.less(new[name], old[name]) for name in ("version", "record_epoch")]
    rewritten = pc.and_(pc.equal(new["version"], old["version"]), pc.not_equal(new["zxid"], old["zxid"]))
    no_record = pc.and_(pc.is_null(new["version"]), pc.is_null(old["version"]))
    older_view = pc.and_(pc.less(new["view_epoch"], old["view_epoch"]), pc.greater_equal(new["view_epoch"], 0))
    seen = pc.and_(older_view, pc.greater_equal(new["views"], old["views"]))
    return _any(*less, rewritten, pc.and_(no_record, seen))


def _any(*masks: Any) -> Any:
    """Returns where at least one of the masks is true; what is not known is not."""
    found, *more = (pc.fill_null(_one(mask), fill_value=False) for mask in masks)
    for mask in more:
        found = pc.or_(found, mask)
    return found


def _reasons(old: Any, new: Any, recreated: frozenset[str]) -> Any:
    """Returns why each row differs, null if it does not."""
    there, was = pc.is_valid(new["topic"]), pc.is_valid(old["topic"])
    known, knew = pc.is_valid(new["leader"]), pc.is_valid(old["leader"])
    both = pc.and_(pc.is_valid(new["version"]), pc.is_valid(old["version"]))
    epochs = pc.if_else(
        both,
        pc.not_equal(new["record_epoch"], old["record_epoch"]),
        pc.not_equal(new["view_epoch"], old["view_epoch"]),
    )
    writes = pc.subtract(pc.subtract(new["version"], old["version"]), pc.subtract(new["epoch"], old["epoch"]))
    isr = _members_differ(_one(old["isr"]), _one(new["isr"]))
    rules = {
        words.DELETED: pc.invert(there),
        words.CREATED: pc.invert(was),
        words.RECREATED: pc.is_in(new["topic"], value_set=pa.array([*recreated], pa.string())),
        words.LOST: pc.and_(knew, pc.invert(known)),
        words.FOUND: pc.and_(known, pc.invert(knew)),
        words.LEADER: pc.not_equal(new["leader"], old["leader"]),
        words.REPLICAS: _lists_differ(_one(old["replicas"]), _one(new["replicas"])),
        words.ISR: _any(isr, pc.greater(writes, 0)),
        words.EPOCH: _any(epochs, pc.not_equal(new["version"], old["version"])),
    }
    masks = pa.StructArray.from_arrays([_any(mask) for mask in rules.values()], [*rules])
    return pc.case_when(masks, *(pa.scalar(reason) for reason in rules))


def _lists_differ(old: Any, new: Any) -> Any:
    """Returns where two lists are known and not equal."""
    sizes = (pc.list_value_length(old), pc.list_value_length(new))
    same_size = pc.fill_null(pc.equal(*sizes), fill_value=False)
    rows = pc.indices_nonzero(same_size)
    whole = len(rows) == len(old)
    one, other = (old, new) if whole else (old.take(rows), new.take(rows))
    unequal = pc.not_equal(pc.list_flatten(one), pc.list_flatten(other))
    odd = pc.unique(pc.list_parent_indices(one).filter(unequal))
    numbers = odd if whole else rows.take(odd)
    at = pa.array(range(len(old)), pa.uint64()) if len(numbers) else None
    differ = (
        pa.repeat(pa.scalar(value=False), len(old)) if at is None else pc.is_in(at, value_set=pc.cast(numbers, at.type))
    )
    return _any(differ, pc.not_equal(*sizes))


def _members_differ(old: Any, new: Any) -> Any:
    """Returns where two lists are known and have not the same members, in whatever order."""
    differ = _lists_differ(old, new)
    rows = pc.indices_nonzero(differ)
    if not len(rows):
        return differ
    pairs = zip(old.take(rows).to_pylist(), new.take(rows).to_pylist(), strict=True)
    return pc.replace_with_mask(differ, differ, pa.array([set(a) != set(b) for a, b in pairs], pa.bool_()))


def _rows(
    cluster: str, compared: tuple[Any, Any, Any], seen: tuple[Observed | None, Observed], record: int | None
) -> Any:
    """Returns the rows of the table; `compared` are the states before, those now, and why they differ."""
    old, new, why = compared
    before, now = seen
    count = len(why)
    fresh = pc.is_in(why, value_set=pa.array([words.CREATED, words.RECREATED, words.DELETED]))
    columns = {
        "cluster": pa.repeat(pa.scalar(cluster), count),
        **{name: pc.coalesce(new[name], old[name]) if old.num_rows else new[name] for name in ("topic", "partition")},
        "topic_id": _ids_of(new["topic"], now.topics),
        **_bounds(new["written_ms"], None if before is None else before.at_ms, now.at_ms),
        **{name: new[name] for name in ("leader", "epoch", "isr", "replicas", "version")},
        "elr": _eligible(new, now),
        "why": why,
        "source": pa.repeat(pa.scalar(words.BY_SNAPSHOT if record is None else words.BY_WATCH), count),
        "record": pa.repeat(pa.scalar(record, pa.int64()), count),
    }
    for name in ("leader", "epoch", "isr", "replicas", "version"):
        none = pa.nulls(count, new[name].type)
        columns[f"{name}_before"] = pc.if_else(fresh, none, _one(old[name])) if old.num_rows else none
    schema = PARTITION_CHANGES.file_schema
    return pa.table([_one(columns[field.name]).cast(field.type) for field in schema], schema=schema)


def _bounds(written_ms: Any, before_ms: int | None, now_ms: int) -> dict[str, Any]:
    """Returns the columns of both bounds: when ZooKeeper's record was written if that is between both snapshots, else
    the times of the snapshots. If a clock was set back, the first is not known.
    """
    written = _one(written_ms)
    exact = pc.and_(pc.less_equal(written, now_ms), pc.greater(written, -1 if before_ms is None else before_ms))
    exact = pc.fill_null(exact, fill_value=False)
    since = None if before_ms is None or before_ms > now_ms else before_ms
    bounds = {"valid_from_after": pa.scalar(since, pa.int64()), "valid_from": pa.scalar(now_ms, pa.int64())}
    return {name: pc.multiply(pc.if_else(exact, written, bound), 1000).cast(TIME) for name, bound in bounds.items()}


def _ids_of(topics: Any, identity: Any) -> Any:
    found = pc.index_in(_one(topics), value_set=pc.cast(_one(identity["topic"]), pa.string()))
    return _one(identity["topic_id"]).take(found)


def _eligible(new: Any, now: Observed) -> Any:
    """Returns the eligible leader replicas of the rows without a leader, on KRaft."""
    asked = pc.and_(pc.equal(new["leader"], _NO_LEADER), pc.is_null(new["version"]))
    rows = set(pc.indices_nonzero(_any(asked)).to_pylist()) if new.num_rows else set()
    if not rows:
        return pa.nulls(new.num_rows, INTS)
    known = now.eligible()
    names = zip(new["topic"].to_pylist(), new["partition"].to_pylist(), strict=True)
    return pa.array([known.get(TopicPartition(*tp)) if at in rows else None for at, tp in enumerate(names)], INTS)
