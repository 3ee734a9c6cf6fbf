"""The clusters of a run, judged: in this process, or where Spark has judged them.

Either way the process of the audit has the digest of each cluster, which the checks over the fleet compare. The
findings themselves stay with Spark: its tasks read those of the previous audit, compare them and write the files of the
table `findings`. No row of them passes through this process.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any, Final

import pyarrow as pa

from kfix.core.fleetcase import ClusterDigest, Stuck
from kfix.core.inventory.model import ClusterEntry
from kfix.fleet.audit.concluding import HeadCounts, Rules, concluded, stuck
from kfix.fleet.audit.past import Past, past_of
from kfix.fleet.engine import ClusterJob, EarlierFindings, Engine, KeptAnswers, SecondPass
from kfix.fleet.judging.tasks import (
    ANSWERS,
    BRIEF,
    FINDING_LIST,
    SUMMARY,
    Judged,
    JudgeTask,
    RowJudge,
    done_of,
    finding_lists,
    finding_of,
    stuck_of,
    tasks_table,
)
from kfix.fleet.model.audit import FindingRow
from kfix.fleet.pool import Done
from kfix.fleet.store.audits import files_of, table_of
from kfix.fleet.store.delta import NewFile, StoreTable
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.runs import Run
from kfix.fleet.store.staging import RunTable, write_file
from kfix.fleet.store.tables import FINDINGS
from kfix.fleet.stored import stored_rows, written_rows

Findings = tuple[FindingRow, ...]
#: The findings that one task of Spark compares and writes as one file.
_FINDINGS_A_TASK: Final = 50_000
_GIVEN: Final = pa.schema([("cluster", pa.string()), ("collected", pa.bool_()), ("more", FINDING_LIST)])
#: A cluster with its counts, or a file without a cluster, as JSON.
_CONCLUDED: Final = pa.schema([("cluster", pa.string()), ("conclusion", pa.string())])


@dataclass(frozen=True)
class Conclusions:
    """The findings of an audit: the files written for the table, which are not committed yet, and their rows as the
    input of a statement. `counts` has every cluster of the run.
    """

    files: tuple[NewFile, ...]
    rows: Any
    counts: Mapping[str, HeadCounts]


@dataclass(frozen=True)
class Judging:
    """How clusters are judged, which the caller supplies, since this package depends on neither checks nor formats.

    `judge` must be a module-level function, since a new process imports it by name. `on_done` is called with (name,
    error or "") for each judged cluster.
    """

    judge: Callable[[JudgeTask], Judged]
    on_done: Callable[[str, str], None] = lambda _name, _error: None

    def reporting(self, results: Iterable[Done[Judged]]) -> Iterator[Done[Judged]]:
        for done in results:
            yield done
            self.on_done(done.name, done.error)


class JudgedRun(ABC):
    """The judged clusters of one run.

    `failed` maps clusters that were not collected, or are damaged, to a reason; `digests` and `stuck` are by cluster.
    """

    def __init__(self, run: Run, entries: Mapping[str, ClusterEntry], rules: Rules, past: Past) -> None:
        self.run = run
        self.entries = entries
        self.rules = rules
        self.past = past
        self.digests: dict[str, ClusterDigest] = {}
        self.failed = dict(run.failed)
        self.stuck: dict[str, tuple[Stuck, ...]] = {}

    @abstractmethod
    def conclude(self, more: Mapping[str, Sequence[FindingRow]]) -> Conclusions:
        """Compares and writes all findings; `more` are those of the checks over the fleet, by cluster."""

    def take(self, done: Done[Judged]) -> Judged | None:
        """Notes the digest of a cluster, or the reason why there is none."""
        if done.error or done.result is None:
            self.failed[done.name] = f"collected, but cannot be judged: {done.error or 'the worker returned no result'}"
            return None
        self.digests[done.name] = done.result.digest
        return done.result

    def concluded(self, rows: Mapping[str, Findings], more: Mapping[str, Sequence[FindingRow]]) -> Conclusions:
        """Compares and writes the findings in this process."""
        found: list[FindingRow] = []
        counts: dict[str, HeadCounts] = {}
        for name in sorted(self.entries):
            now = (*rows.get(name, ()), *more.get(name, ()))
            before = self.past.rows.get(name, ())
            kept, counts[name] = concluded(now, before, self.rules, collected=name not in self.failed)
            found += kept
        table = table_of(FindingRow, found)
        return Conclusions(_written(self.run.root, self.run.day, self.run.id, table), table, counts)


@contextlib.contextmanager
def judged_run(
    run: Run, entries: Mapping[str, ClusterEntry], engine: Engine, judging: Judging, rules: Rules, before: Past
) -> Iterator[JudgedRun]:
    """Opens the judged clusters of a run; `entries` are all of it, those that were not collected too.

    `before` are the audits before it, as `searched` finds them.
    """
    tasks = {name: JudgeTask(name, where, run.day, entries[name].criteria) for name, where in run.stored().items()}
    checked: list[Past] = []

    def job() -> ClusterJob:
        past = past_of(before, entries, with_rows=False)
        checked.append(past)
        return ClusterJob(
            tasks_table(tasks.values()),
            RowJudge(judging.judge, partial(stuck, rules=rules)),
            ANSWERS,
            SUMMARY,
            _before(run.root, past),
            BRIEF,
        )

    with engine.over_rows(job) if tasks else contextlib.nullcontext() as answers:
        if answers is None:
            results = judging.reporting(engine.each(judging.judge, tasks))
            yield _JudgedHere(run, entries, rules, before, results)
        else:
            yield _JudgedThere(run, entries, rules, checked[0], answers, judging)


class _JudgedHere(JudgedRun):
    """Judged by a pool of processes; the findings are in this one."""

    def __init__(
        self,
        run: Run,
        entries: Mapping[str, ClusterEntry],
        rules: Rules,
        before: Past,
        results: Iterable[Done[Judged]],
    ) -> None:
        super().__init__(run, entries, rules, before)
        self._rows: dict[str, Findings] = {}
        for done in results:
            if (result := self.take(done)) is not None:
                self._rows[done.name] = result.rows
        # Read after the clusters were judged: its findings are not in memory meanwhile.
        self.past = past_of(before, entries)
        for name, found in self._rows.items():
            if since := stuck(found, self.past.rows.get(name, ()), rules=rules):
                self.stuck[name] = since

    def conclude(self, more: Mapping[str, Sequence[FindingRow]]) -> Conclusions:
        return self.concluded(self._rows, more)


class _JudgedThere(JudgedRun):
    """Judged by Spark, which keeps the findings; this process has a summary of each cluster."""

    def __init__(
        self,
        run: Run,
        entries: Mapping[str, ClusterEntry],
        rules: Rules,
        past: Past,
        answers: KeptAnswers,
        judging: Judging,
    ) -> None:
        super().__init__(run, entries, rules, past)
        self._answers = answers
        summary = {row["cluster"]: row for row in answers.summary.to_pylist()}
        self._findings = sum(row["n_findings"] for row in summary.values())
        for done in judging.reporting(done_of(summary[name]) for name in run.stored()):
            if self.take(done) is not None and (since := stuck_of(summary[done.name])):
                self.stuck[done.name] = since

    def conclude(self, more: Mapping[str, Sequence[FindingRow]]) -> Conclusions:
        run = self.run
        names = sorted(self.entries)
        given = pa.table(
            [
                pa.array(names, pa.string()),
                pa.array([name not in self.failed for name in names], pa.bool_()),
                finding_lists([more.get(name, ()) for name in names]),
            ],
            schema=_GIVEN,
        )
        work = WriteFindings(RunTable.of(run, FINDINGS).root, run.id, self.rules)
        tasks = 1 + self._findings // _FINDINGS_A_TASK
        found = self._answers.again(SecondPass(given, ("findings",), work, _CONCLUDED, tasks))
        if found is not None:
            return _conclusions_of(run, found)
        # A process died, or Spark cannot read a file of the previous audit.
        rows = {done.name: done.result.rows for done in map(done_of, self._answers.read().to_pylist()) if done.result}
        self.past = past_of(self.past, self.entries)
        return self.concluded(rows, more)


def _written(root: StoreLocation, day: date, run: str, table: Any) -> tuple[NewFile, ...]:
    if not table.num_rows:
        return ()
    return (write_file(StoreTable(root, FINDINGS).folder(day, run), FINDINGS.name, table),)


def _before(root: StoreLocation, past: Past) -> EarlierFindings | None:
    compared = past.earlier.compared
    files = files_of(root, FindingRow, {audit.key for audit in compared.values()})
    if not files:
        return None
    of = pa.table(
        [
            pa.array([*compared], pa.string()),
            pa.array([audit.day for audit in compared.values()], pa.date32()),
            pa.array([audit.id for audit in compared.values()], pa.string()),
        ],
        names=["cluster", "day", "run"],
    )
    return EarlierFindings(stored_rows(root, FINDINGS, files, past.earlier.renames), of)


@dataclass(frozen=True, slots=True)
class WriteFindings:
    """Compares the findings of clusters, in their order, and writes them as one file of the table.

    Yields one row a cluster with its counts, and one for the file. A file of a task that Spark repeats is in no commit.
    """

    root: str
    run: str
    rules: Rules

    def __call__(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
        found: list[FindingRow] = []
        concluded_rows: list[tuple[str | None, str]] = []
        for row in rows:
            now, before = ([*map(finding_of, row[name] or ())] for name in ("findings", "before"))
            now += map(finding_of, row["more"])
            kept, counted = concluded(now, before, self.rules, collected=row["collected"])
            found += kept
            concluded_rows.append((row["cluster"], json.dumps(asdict(counted))))
        files = _written(place_of(self.root), self.rules.day, self.run, table_of(FindingRow, found))
        concluded_rows += [(None, json.dumps(asdict(file))) for file in files]
        clusters, texts = zip(*concluded_rows, strict=True) if concluded_rows else ((), ())
        yield pa.RecordBatch.from_arrays(
            [pa.array(clusters, pa.string()), pa.array(texts, pa.string())], schema=_CONCLUDED
        )


def _conclusions_of(run: Run, found: Any) -> Conclusions:
    counts: dict[str, HeadCounts] = {}
    files: list[NewFile] = []
    for row in found.to_pylist():
        values = json.loads(row["conclusion"])
        if row["cluster"] is None:
            files.append(NewFile(**{**values, "clusters": tuple(values["clusters"])}))
        else:
            counts[row["cluster"]] = HeadCounts(**{**values, "covered": tuple(values["covered"])})
    files.sort(key=lambda file: file.name)
    return Conclusions(tuple(files), written_rows(RunTable.of(run, FINDINGS), files), counts)
