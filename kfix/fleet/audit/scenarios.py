"""Judges failures of the stored clusters of a run: in SQL, or partition by partition where masks are too narrow."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from kfix.core.diagnosis.forecast import Failure, Fate
from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.core.failures.judging import Judge
from kfix.core.failures.masks import MOST_BROKERS, MOST_REPLICAS
from kfix.core.failures.scenarios import unknown_of
from kfix.fleet.audit.scenario_sql import (
    BROKERS_SQL,
    CHOSEN_TOTAL,
    COUNTED,
    EVERY_TOTAL,
    HITS,
    LOSING,
    LOST_COLUMNS,
    LOST_TOPICS,
    WITH_TOPICS,
)
from kfix.fleet.engines.engine import Engine, View
from kfix.fleet.judging.case import open_stored
from kfix.fleet.model.scenarios import BROKER, PAIR, RACK, ScenarioRow, in_order
from kfix.fleet.store.audits import table_of
from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.runs import Run, StoredCluster
from kfix.fleet.store.spec import Column, TableSpec
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.stored import StoredRows, stored_rows, written_rows
from kfix.fleet.store.tables import BROKERS, PARTITION_STATES, PARTITIONS, SCENARIOS, SNAPSHOTS

_CHOSEN: Final = pa.schema(
    [("cluster", pa.string()), ("kind", pa.string()), ("name", pa.string()), ("down", pa.int64())]
)
_NO_TOPICS: Final = "the topics that stop are not known: its partitions cannot be read"
_INT: Final = pa.int64()
_KINDS: Final = {"cluster": pa.string(), "kind": pa.string(), "name": pa.string()}
_FLAGS: Final = dict.fromkeys(("controller", "complete"), pa.bool_())
#: Rows between two statements: they are written where they are computed, read there, and never committed.
_COUNTED: Final = TableSpec(
    SCENARIOS.name,
    "failures with their counts",
    tuple(Column(name, (_KINDS | _FLAGS).get(name, _INT), "") for name in ("cluster", *COUNTED)),
)
_HITS: Final = TableSpec(
    SCENARIOS.name,
    "states that stop or lose records",
    tuple(Column(name, _KINDS.get(name, _INT), "") for name in ("cluster", "down", "state")),
)
_LOSES: Final = {Fate.STOPS, Fate.STRANDED, Fate.UNCLEAN}
_WORST: Final = 3
WITHOUT_PAIRS: Final = (
    f"no pair of brokers was judged: it has more than {MOST_BROKERS} brokers, or more than {MOST_REPLICAS} replicas "
    "of a partition"
)
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScenarioTask:
    """The input of a worker that judges a cluster whose masks do not fit: its failures as (kind, name, brokers)."""

    stored: StoredCluster
    failures: tuple[tuple[str, str, frozenset[int]], ...]


@dataclass(frozen=True)
class LiveBrokers:
    """The live brokers of one cluster; `bits` is empty where its masks do not fit into 64 bits."""

    racks: Mapping[int, str]
    bits: Mapping[int, int]

    def in_rack(self, rack: str) -> frozenset[int]:
        return frozenset(broker for broker, name in self.racks.items() if name == rack)

    def named(self, mask: int) -> tuple[int, ...]:
        return tuple(broker for broker, bit in self.bits.items() if bit & mask)


@dataclass(frozen=True, slots=True)
class JudgedScenarios:
    """Scenarios by cluster, kind and brokers. `unjudged` maps clusters without a complete answer to the reason."""

    rows: tuple[ScenarioRow, ...]
    unjudged: Mapping[str, str]


_Failure = tuple[str, str, frozenset[int]]


class RunScenarios:
    """The failures of one run. Raises UsageError or UnreachableError if a table of the run cannot be read."""

    def __init__(self, root: StoreLocation, run: Run, engine: Engine) -> None:
        self._engine = engine
        self._run = run
        key = (run.day, run.id)

        def rows(spec: TableSpec) -> StoredRows:
            return stored_rows(root, spec, StoreTable(root, spec).files(lambda day, name: (day, name) == key))

        self.tables = {spec.name: rows(spec) for spec in (BROKERS, SNAPSHOTS, PARTITION_STATES)}
        self.partitions = rows(PARTITIONS)
        self.brokers = self._brokers()
        self._unjudged = {
            name: run.failed.get(name) or "no source shows which brokers are alive"
            for name in sorted({*run.clusters, *run.failed} - self.brokers.keys())
        }

    def _brokers(self) -> Mapping[str, LiveBrokers]:
        racks: dict[str, dict[int, str]] = {}
        bits: dict[str, dict[int, int]] = {}
        tables = {name: self.tables[name] for name in ("brokers", "snapshots")}
        for row in self._engine.query(BROKERS_SQL, tables).to_pylist():
            racks.setdefault(row["cluster"], {})[row["broker"]] = row["rack"]
            if row["masked"]:
                bits.setdefault(row["cluster"], {})[row["broker"]] = row["bit"]
        return {name: LiveBrokers(found, bits.get(name, {})) for name, found in racks.items()}

    def every(self) -> JudgedScenarios:
        """Judges every live broker, every rack and every pair. Returns brokers and racks, and of the pairs those after
        which more partitions stop or lose records than after the failures of its two brokers, one by one, together.

        Where the masks do not fit, pairs are left out, and `unjudged` says so.
        """
        found = _beyond_singles(self._engine.query(EVERY_TOTAL, self.tables).to_pylist())
        judged = self._finished(found, self._wide())
        return replace(judged, unjudged={**self._without_pairs(), **judged.unjudged})

    def chosen(self, failures: Mapping[str, _Failure]) -> JudgedScenarios:
        """Judges one failure in each cluster, by name of the cluster: (kind, name, live brokers that go down)."""
        rows = [
            {"cluster": name, "kind": kind, "name": down, "down": sum(self.brokers[name].bits[b] for b in brokers)}
            for name, (kind, down, brokers) in failures.items()
            if self.brokers[name].bits
        ]
        tables = {**self.tables, "chosen": pa.Table.from_pylist(rows, schema=_CHOSEN)}
        found = self._engine.query(CHOSEN_TOTAL, tables).to_pylist() if rows else []
        return self._finished(found, {n: [f] for n, f in failures.items() if not self.brokers[n].bits})

    def written(self) -> tuple[tuple[NewFile, ...], Mapping[str, str]]:
        """Writes the rows of `every`, where they are computed, and returns the files and `unjudged`."""
        counted, hits = (RunTable.of(self._run, spec) for spec in (_COUNTED, _HITS))
        chosen = self._kept(EVERY_TOTAL, self.tables, KeepScenarios(counted))
        given = {"counted": written_rows(counted, chosen)}
        found: tuple[NewFile, ...] = ()
        try:
            found = self._kept(HITS, {**self.tables, **given, "chosen": View(LOSING)}, hits)
            given |= {"hits": written_rows(hits, found), "partitions": self.partitions}
            write = WriteScenarios(RunTable.of(self._run, SCENARIOS), self.brokers)
            parts = self._engine.over_parts(WITH_TOPICS, given, ("cluster", "kind", "name"), write)
        except (UsageError, UnreachableError):
            return self._of_sound_files()
        finally:
            counted.remove(chosen)
            hits.remove(found)
        wide = self._finished([], self._wide())
        table = table_of(ScenarioRow, wide.rows)
        files = [file for part, _ in parts for file in part] + [*write.table(iter(table.to_batches()))]
        unknown = {name: _NO_TOPICS for _, names in parts for name in names}
        return tuple(files), {**self._without_pairs(), **wide.unjudged, **unknown}

    def _kept(
        self, sql: str, tables: Mapping[str, Any], write: Callable[[Iterator[Any]], tuple[NewFile, ...]]
    ) -> tuple[NewFile, ...]:
        return tuple(file for part in self._engine.over_parts(sql, tables, ("cluster",), write) for file in part)

    def _of_sound_files(self) -> tuple[tuple[NewFile, ...], Mapping[str, str]]:
        """Does the same in this process, where a damaged file of `partitions` spoils only its clusters."""
        judged = self.every()
        write = RunTable.of(self._run, SCENARIOS)
        return write(iter(table_of(ScenarioRow, judged.rows).to_batches())), judged.unjudged

    def _wide(self) -> Mapping[str, Sequence[_Failure]]:
        return {name: [*_singles_and_racks(each)] for name, each in self.brokers.items() if not each.bits}

    def _without_pairs(self) -> Mapping[str, str]:
        return {name: WITHOUT_PAIRS for name, each in sorted(self.brokers.items()) if not each.bits}

    def _finished(self, rows: Sequence[_Row], wide: Mapping[str, Sequence[_Failure]]) -> JudgedScenarios:
        unjudged = dict(self._unjudged)
        topics = self._topics(rows, unjudged)
        made = [_scenario(row, topics.get((row["cluster"], row["down"])), self.brokers) for row in rows]
        where = self._run.stored() if wide else {}
        tasks = {name: ScenarioTask(where[name], tuple(each)) for name, each in wide.items()}
        for done in self._engine.each(judge_by_rules, tasks):
            if done.error:
                unjudged[done.name] = done.error
            made += done.result or ()
        return JudgedScenarios(tuple(sorted(made, key=in_order)), unjudged)

    def _topics(self, rows: Sequence[_Row], unjudged: dict[str, str]) -> Mapping[tuple[str, int], _Row]:
        """Returns the topics that are lost in each failure. A damaged file of `partitions` spoils only its clusters."""
        losing = [{name: row[name] for name in _CHOSEN.names} for row in rows if row["stops"] or row["unclean"]]
        if not losing:
            return {}
        chosen = pa.Table.from_pylist(losing, schema=_CHOSEN)
        hits = self._engine.query(HITS, {**self.tables, "chosen": chosen})

        def ask(files: tuple[TableFile, ...]) -> list[_Row]:
            partitions = replace(self.partitions, files=files)
            found: list[_Row] = self._engine.query(LOST_TOPICS, {"hits": hits, "partitions": partitions}).to_pylist()
            return found

        try:
            found = ask(self.partitions.files)
        except KfixError:
            found = []
            for file in self.partitions.files:
                with contextlib.suppress(KfixError):
                    found += ask((file,))
        known = {(row["cluster"], row["down"]): row for row in found}
        for row in losing:
            if (row["cluster"], row["down"]) not in known:
                unjudged[row["cluster"]] = _NO_TOPICS
        return known


@dataclass(frozen=True, slots=True)
class KeepScenarios:
    """Writes the rows of EVERY_TOTAL that count."""

    table: RunTable

    def __call__(self, batches: Iterator[Any]) -> tuple[NewFile, ...]:
        rows = _beyond_singles(row for batch in batches for row in batch.to_pylist())
        return self.table(iter(pa.Table.from_pylist(rows, schema=_COUNTED.file_schema).to_batches()))


@dataclass(frozen=True, slots=True)
class WriteScenarios:
    """Writes the rows of WITH_TOPICS, and returns the clusters whose topics are not known."""

    table: RunTable
    brokers: Mapping[str, LiveBrokers]

    def __call__(self, batches: Iterator[Any]) -> tuple[tuple[NewFile, ...], tuple[str, ...]]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        topics = [{name: row.pop(name) for name in LOST_COLUMNS} for row in rows]
        pairs = zip(rows, topics, strict=True)
        found = sorted((_scenario(row, lost, self.brokers) for row, lost in pairs), key=in_order)
        unknown = {row.cluster for row in found if row.something_stops and not row.topics}
        return self.table(iter(table_of(ScenarioRow, found).to_batches())), tuple(sorted(unknown))


def _scenario(row: _Row, topics: _Row | None, brokers: Mapping[str, LiveBrokers]) -> ScenarioRow:
    values, lost = dict(row), topics or {}
    return ScenarioRow(
        down=values.pop("name"),
        brokers=brokers[row["cluster"]].named(values.pop("down")),
        topics=lost.get("topics") or 0,
        worst=tuple(topic for name in LOST_COLUMNS[1:] if (topic := lost.get(name)) is not None),
        **values,
    )


def _beyond_singles(rows: Iterable[_Row]) -> list[_Row]:
    rows = list(rows)
    alone = {(r["cluster"], r["name"]): r["stops"] + r["unclean"] for r in rows if r["kind"] == BROKER}

    def kept(row: _Row) -> bool:
        singles = (alone[row["cluster"], name] for name in row["name"].split(","))
        return row["kind"] != PAIR or bool(row["stops"] + row["unclean"] > sum(singles))

    return [row for row in rows if kept(row)]


def _singles_and_racks(brokers: LiveBrokers) -> Iterator[tuple[str, str, frozenset[int]]]:
    for broker in sorted(brokers.racks):
        yield BROKER, str(broker), frozenset({broker})
    for rack in sorted({*brokers.racks.values()} - {""}):
        yield RACK, rack, brokers.in_rack(rack)


def judge_by_rules(task: ScenarioTask) -> tuple[ScenarioRow, ...]:
    """Judges the failures of a stored cluster as `kfix whatif` does. Raises UsageError if it is damaged."""
    judge = Judge(open_stored(task.stored))
    return tuple(row_by_rules(judge, task.stored.name, *failure) for failure in task.failures)


def row_by_rules(judge: Judge, cluster: str, kind: str, name: str, brokers: frozenset[int]) -> ScenarioRow:
    """Returns the row of one failure, judged partition by partition."""
    found = judge.judge(Failure(brokers), named=True)
    lost: dict[str, int] = {}
    for partition in found.partitions:
        if partition.fate in _LOSES:
            lost[partition.tp.topic] = lost.get(partition.tp.topic, 0) + 1
    return ScenarioRow(
        cluster=cluster,
        kind=kind,
        down=name,
        brokers=tuple(sorted(brokers)),
        stops=found.stops,
        stranded=found.stranded,
        unclean=found.unclean,
        under_min_isr=found.under_min_isr,
        last_in_sync=found.last_in_sync,
        moves=found.moves,
        unknown=found.unjudged,
        topics=len(lost),
        offsets=len(found.offsets),
        transactions=len(found.transactions),
        groups=len(found.groups),
        unwritable=len(found.unwritable),
        controller=bool(found.controller_moves),
        complete=not any(unknown_of(judge.case)),
        worst=tuple(sorted(lost, key=lambda topic: (-lost[topic], topic))[:_WORST]),
    )


def write_scenarios(root: StoreLocation, run: Run, engine: Engine) -> tuple[tuple[NewFile, ...], Mapping[str, str]]:
    """Writes the table `scenarios` for a complete run. Returns its files, and the clusters that were not, or not
    completely, judged, with the reason: all of them if a table cannot be read.
    """
    try:
        return RunScenarios(root, run, engine).written()
    except (UsageError, UnreachableError) as error:
        return (), dict.fromkeys(sorted(run.clusters), str(error))
