"""The clusters of a run, judged: a worker or a task of Spark has some clusters, and writes all that it finds of them.

It compares each cluster with the snapshot before, runs the checks, and compares the findings with those of the
previous audit; the rows of `partition_changes` and `findings` stay there, as files. The process of the audit has a
digest of each cluster, for the checks over the fleet, adds their findings, and commits the files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kfix.core.criteria import Criteria
from kfix.core.errors import KfixError, UnreachableError
from kfix.core.fleetcase import ClusterDigest, Stuck
from kfix.core.inventory.model import ClusterEntry
from kfix.fleet.audit.concluding import HeadCounts, Rules, Unread, concluded, stuck, unread_sources
from kfix.fleet.audit.judging import judged
from kfix.fleet.audit.past import EarlierFindings, Past, earlier_rows
from kfix.fleet.engines.engine import Engine
from kfix.fleet.engines.pool import Done, many
from kfix.fleet.history.partitions import Compared, WriteChanges, Written
from kfix.fleet.model.audit import FindingRow
from kfix.fleet.store.audits import table_of
from kfix.fleet.store.delta import NewFile
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.runs import Run, StoredCluster
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.tables import FINDINGS
from kfix_diagnostics.fleet import FLEET

#: The partitions that one task judges, at least, and the most tasks of a run: each writes two files.
_ROWS_A_TASK: Final = 50_000
_MOST_TASKS: Final = 16
_TASKS_A_CORE: Final = 2
#: The checks that need the whole fleet.
_OVER_THE_FLEET: Final = frozenset(check.code for check in FLEET)
OnDone = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class ClusterTask:
    """The input of a worker: names and places, never rows. `compared` is None if the snapshots before are not known."""

    cluster: str
    stored: StoredCluster
    criteria: Criteria
    compared: Compared | None
    earlier: EarlierFindings


@dataclass(frozen=True, slots=True)
class JudgedCluster:
    """What the process of the audit needs of a cluster; its findings are in a file."""

    digest: ClusterDigest
    stuck: tuple[Stuck, ...]
    counts: HeadCounts
    unread: Unread


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """Judged clusters, the files of their findings, and their changes. `unwritten`: why the store cannot be written."""

    clusters: tuple[Done[JudgedCluster], ...] = ()
    findings: tuple[NewFile, ...] = ()
    changes: Written = field(default_factory=Written)
    unwritten: str = ""


@dataclass(frozen=True, slots=True)
class JudgeClusters:
    """Judges clusters, which are sorted by name. A cluster that fails is an error and spoils no other."""

    findings: RunTable
    changes: RunTable
    rules: Rules

    def __call__(self, part: Sequence[ClusterTask]) -> JudgedPart:
        try:
            changes = WriteChanges(self.changes)([each.compared for each in part if each.compared is not None])
            before = earlier_rows({each.cluster: each.earlier for each in part})
            rules, found = replace(self.rules, recreated=changes.recreated), list[FindingRow]()

            def one(task: ClusterTask) -> JudgedCluster:
                now, digest = judged(task.cluster, task.stored, task.criteria, rules.day)
                then = [row for row in before.get(task.cluster, ()) if row.code not in _OVER_THE_FLEET]
                rows, counts = concluded(now, then, rules, collected=True)
                found.extend(rows)
                unread = (unread_sources(now), unread_sources(then))
                return JudgedCluster(digest, stuck(now, then, rules=rules), counts, unread)

            clusters = many(one, [(each.cluster, each) for each in part])
            return JudgedPart(tuple(clusters), _written(self.findings, found), changes)
        except KfixError as error:  # What cannot be read is an error of its cluster.
            return JudgedPart(unwritten=str(error))


@dataclass
class JudgedRun:
    """The judged clusters of one run.

    `failed` maps clusters that were not collected, or cannot be judged, to a reason. `files` are the files of the
    findings, `changes` those of the partitions; they are not committed.
    """

    failed: dict[str, str]
    clusters: dict[str, JudgedCluster] = field(default_factory=dict)
    files: tuple[NewFile, ...] = ()
    changes: Written = field(default_factory=Written)

    @property
    def digests(self) -> Mapping[str, ClusterDigest]:
        return {name: each.digest for name, each in self.clusters.items()}

    @property
    def stuck(self) -> Mapping[str, tuple[Stuck, ...]]:
        return {name: each.stuck for name, each in self.clusters.items() if each.stuck}

    def take(self, part: JudgedPart, on_done: OnDone) -> None:
        if part.unwritten:
            raise UnreachableError(part.unwritten)
        for done in part.clusters:
            if done.result is None:
                self.failed[done.name] = f"collected, but cannot be judged: {done.error}"
            else:
                self.clusters[done.name] = done.result
            on_done(done.name, done.error)
        self.files += part.findings
        self.changes = self.changes.plus(part.changes)


def judged_run(
    run: Run,
    entries: Mapping[str, ClusterEntry],
    engine: Engine,
    rules: Rules,
    past: Past,
    compared: Mapping[str, Compared],
    on_done: OnDone,
) -> JudgedRun:
    """Judges the clusters of a run. Raises UnreachableError if the store cannot be written."""
    tasks = [
        ClusterTask(
            name, stored, entries[name].criteria, compared.get(name), past.findings.get(name, EarlierFindings())
        )
        for name, stored in run.stored().items()
    ]
    size = max(_ROWS_A_TASK, sum(run.clusters.values()) // max(_MOST_TASKS, _TASKS_A_CORE * engine.cores))
    parts = {f"{part[0].cluster}...": part for part in _parts(tasks, run.clusters, size)}
    work = JudgeClusters(RunTable.of(run, FINDINGS), RunTable.of(run, PARTITION_CHANGES), rules)
    found = JudgedRun(dict(run.failed))
    for part in _done(engine, work, parts):
        found.take(part, on_done)
    return found


def _done(engine: Engine, work: JudgeClusters, parts: Mapping[str, Sequence[ClusterTask]]) -> Iterator[JudgedPart]:
    for done in engine.each(work, parts):
        part = parts[done.name]
        if done.result is not None:
            yield done.result
        elif len(part) > 1:
            # A cluster that ends the process of its worker is lost, and no other.
            yield from _done(engine, work, {each.cluster: [each] for each in part})
        else:
            name = part[0].cluster
            yield JudgedPart((Done(name, None, done.error, done.seconds),), changes=Written(errors={name: done.error}))


def _parts(tasks: Iterable[ClusterTask], rows: Mapping[str, int], size: int) -> Iterator[list[ClusterTask]]:
    part: list[ClusterTask] = []
    total = 0
    for each in tasks:
        count = rows.get(each.cluster, 0)
        if part and total + count > size:
            yield part
            part, total = [], 0
        part.append(each)
        total += count
    if part:
        yield part


def conclude(
    found: JudgedRun,
    run: Run,
    clusters: Iterable[str],
    more: Mapping[str, Sequence[FindingRow]],
    past: Past,
    rules: Rules,
) -> tuple[tuple[NewFile, ...], Mapping[str, HeadCounts]]:
    """Compares and writes what the workers could not: the findings over the fleet in `more`, and those of clusters that
    failed. Returns all files of the findings, and the counts of every cluster.
    """
    before = {
        **earlier_rows({n: each for n, each in past.findings.items() if n not in found.clusters}),
        **earlier_rows({n: each for n, each in past.findings.items() if n in found.clusters}, _OVER_THE_FLEET),
    }
    rules = replace(rules, recreated=found.changes.recreated)
    rows: list[FindingRow] = []
    counts: dict[str, HeadCounts] = {}
    for name in sorted(clusters):
        here = found.clusters.get(name)
        given = (more.get(name, ()), before.get(name, ()), rules)
        kept, counts[name] = concluded(*given, collected=here is not None, unread=None if here is None else here.unread)
        if here is not None:
            counts[name] += here.counts
        rows += kept
    files = (*found.files, *_written(RunTable.of(run, FINDINGS), rows))
    return tuple(sorted(files, key=lambda file: file.name)), counts


def _written(table: RunTable, rows: Sequence[FindingRow]) -> tuple[NewFile, ...]:
    return table(iter(table_of(FindingRow, rows).to_batches()))
