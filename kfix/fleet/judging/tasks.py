"""What a worker gets and gives when it judges a cluster, as Python objects and as rows of Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final, get_type_hints

import pyarrow as pa

from kfix.core.criteria import CRITERIA, Criteria, Expected
from kfix.core.fleetcase import ClusterDigest, Stuck
from kfix.fleet.model.audit import FindingRow
from kfix.fleet.pool import Done, many
from kfix.fleet.store.flat import column_of
from kfix.fleet.store.runs import StoredCluster
from kfix.fleet.store.tables import FINDINGS


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """The input of a worker: names and numbers, never rows. `stored` is where the cluster is in the store,"""

    cluster: str
    stored: StoredCluster
    day: date
    criteria: Criteria = CRITERIA


@dataclass(frozen=True, slots=True)
class EarlierFinding:
    """What a finding of the previous audit tells about stuck partitions, as in `FindingRow`."""

    code: str
    since: date
    prevention: bool
    partitions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Judged:
    """The output of a worker: the rows of all findings, folded ones included, each with status new, and the digest."""

    rows: tuple[FindingRow, ...]
    digest: ClusterDigest


#: A task as a row; `zones` is JSON.
TASKS: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("partitions", pa.string()),
        ("document", pa.string()),
        ("row", pa.int64()),
        ("groups", pa.list_(pa.int64())),
        ("day", pa.date32()),
        ("expected_rf", pa.int64()),
        ("expected_min_isr", pa.int64()),
        ("restart_grace", pa.float64()),
        ("zones", pa.string()),
    ]
)
_FINDING: Final = pa.struct([pa.field(f.name, f.type) for f in FINDINGS.file_schema])
#: The findings of one cluster.
FINDING_LIST: Final = pa.list_(_FINDING)
#: A result as a row: `error` is "" where the cluster was judged, else `digest` (JSON) and `findings` are null. `stuck`
#: is JSON: (code, partitions, first day).
ANSWERS: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("error", pa.string()),
        ("seconds", pa.float64()),
        ("digest", pa.string()),
        ("stuck", pa.string()),
        ("n_findings", pa.int64()),
        ("findings", FINDING_LIST),
    ]
)
#: The columns of an answer that the process of the audit reads.
SUMMARY: Final = ("cluster", "error", "seconds", "digest", "stuck", "n_findings")
#: The columns of earlier findings that show whether a partition is stuck.
BRIEF: Final = ("code", "since", "prevention", "partitions")
_LISTS: Final = tuple(n for n, kind in get_type_hints(FindingRow).items() if kind == tuple[str, ...])


def tasks_table(tasks: Iterable[JudgeTask]) -> Any:
    """Returns the tasks as a pyarrow table of `TASKS`."""
    rows = [
        (
            t.cluster,
            t.stored.partitions,
            t.stored.document,
            t.stored.row,
            t.stored.groups,
            t.day,
            t.criteria.expected.rf,
            t.criteria.expected.min_isr,
            t.criteria.restart_grace,
            json.dumps(dict(t.criteria.zones)),
        )
        for t in tasks
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in TASKS)
    return pa.table([pa.array([*c], f.type) for c, f in zip(columns, TASKS, strict=True)], schema=TASKS)


def task_of(row: Mapping[str, Any]) -> JudgeTask:
    """Returns the task of a row of `TASKS`."""
    name, groups = row["cluster"], row["groups"]
    stored = StoredCluster(
        name, row["partitions"], row["document"], row["row"], None if groups is None else tuple(groups)
    )
    expected = Expected(row["expected_rf"], row["expected_min_isr"])
    criteria = Criteria(restart_grace=row["restart_grace"], expected=expected, zones=json.loads(row["zones"]))
    return JudgeTask(name, stored, row["day"], criteria)


@dataclass(frozen=True, slots=True)
class RowJudge:
    """Judges the cluster of a row of `TASKS` and returns a record batch of `ANSWERS`; a failure is an answer, too.

    `stuck` finds the stuck partitions among the findings of both audits; the row's `before` list holds those of the
    previous one, with the columns `BRIEF`.
    """

    judge: Callable[[JudgeTask], Judged]
    stuck: Callable[[Sequence[FindingRow], Sequence[EarlierFinding]], Sequence[Stuck]]

    def __call__(self, row: Mapping[str, Any]) -> Any:
        [done] = many(self.judge, [(row["cluster"], task_of(row))])
        before = [EarlierFinding(**each) for each in row.get("before") or ()]
        stuck = () if done.result is None else self.stuck(done.result.rows, before)
        return answers_batch([done], [stuck])


def answers_batch(done: Sequence[Done[Judged]], stuck: Sequence[Sequence[Stuck]]) -> Any:
    """Returns results, and the stuck partitions of each, as a pyarrow record batch of `ANSWERS`."""
    results = [d.result for d in done]
    encoded = [[(s.code, s.partitions, s.since.isoformat()) for s in each] for each in stuck]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([d.name for d in done], pa.string()),
            column_of([d.error or ("" if d.result else "the worker returned no result") for d in done], pa.string()),
            pa.array([d.seconds for d in done], pa.float64()),
            column_of([None if r is None else json.dumps(asdict(r.digest)) for r in results], pa.string()),
            column_of(list(map(json.dumps, encoded)), pa.string()),
            pa.array([0 if r is None else len(r.rows) for r in results], pa.int64()),
            finding_lists([None if r is None else r.rows for r in results]),
        ],
        schema=ANSWERS,
    )


def finding_lists(lists: Sequence[Sequence[FindingRow] | None]) -> Any:
    """Returns a pyarrow array with a list of findings for each cluster."""
    rows = [row for each in lists if each is not None for row in each]
    columns = [column_of([getattr(row, f.name) for row in rows], f.type) for f in _FINDING]
    starts: list[int | None] = []
    at = 0
    for each in lists:
        starts.append(None if each is None else at)
        at += 0 if each is None else len(each)
    found = pa.ListArray.from_arrays(
        pa.array([*starts, at], pa.int32()), pa.StructArray.from_arrays(columns, fields=[*_FINDING])
    )
    return found.cast(FINDING_LIST)


def done_of(row: Mapping[str, Any]) -> Done[Judged]:
    """Returns the result of a row of `ANSWERS`; without its column `findings` it has no rows."""
    if row["error"]:
        return Done(row["cluster"], None, row["error"], row["seconds"])
    digest = json.loads(row["digest"])
    digest["could_not_read"] = tuple(digest["could_not_read"])
    findings = tuple(map(finding_of, row.get("findings") or ()))
    return Done(row["cluster"], Judged(findings, ClusterDigest(**digest)), "", row["seconds"])


def stuck_of(row: Mapping[str, Any]) -> tuple[Stuck, ...]:
    """Returns the stuck partitions of a row of `ANSWERS`."""
    return tuple(Stuck(code, tuple(tps), date.fromisoformat(day)) for code, tps, day in json.loads(row["stuck"]))


def finding_of(values: Mapping[str, Any]) -> FindingRow:
    """Returns the finding of a row of the table `findings`."""
    fields: dict[str, Any] = {name: tuple(value) if name in _LISTS else value for name, value in values.items()}
    return FindingRow(**fields)
