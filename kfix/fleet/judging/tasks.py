"""What a worker gets and gives when it judges a cluster, as Python objects and as rows of Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final, get_type_hints

import pyarrow as pa

from kfix.adapters.fleet.flat import column_of
from kfix.adapters.fleet.runs import StoredCluster
from kfix.adapters.fleet.tables import FINDINGS
from kfix.fleet.judging.picked import Picked
from kfix.fleet.pool import Done, many
from kfix.model.audit.audit import FindingRow
from kfix.model.audit.fleetcase import ClusterDigest
from kfix.model.expected import EXPECTED, Expected
from kfix.model.timing import TIMING


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """The input of a worker: names and numbers, never rows. `stored` is where the cluster is in the store,
    `picked` are the rows that an engine has picked.
    """

    cluster: str
    stored: StoredCluster
    day: date
    expected: Expected = EXPECTED
    restart_grace: float = TIMING.restart_grace
    picked: Picked | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The output of a worker: the rows of all findings, folded ones included, each with status new, and the digest."""

    rows: tuple[FindingRow, ...]
    digest: ClusterDigest


#: A task as a row.
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
    ]
)
_FINDING: Final = pa.struct([pa.field(f.name, f.type) for f in FINDINGS.file_schema])
#: A result as a row: `error` is "" where the cluster was judged, else `digest` (JSON) and `findings` are null.
ANSWERS: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("error", pa.string()),
        ("seconds", pa.float64()),
        ("digest", pa.string()),
        ("findings", pa.list_(_FINDING)),
    ]
)
_LISTS: Final = tuple(n for n, kind in get_type_hints(FindingRow).items() if kind == tuple[str, ...])


def tasks_table(tasks: Iterable[JudgeTask]) -> Any:
    """Returns the tasks as a pyarrow table of `TASKS`; rows that were picked are left out."""
    rows = [
        (
            t.cluster,
            t.stored.partitions,
            t.stored.document,
            t.stored.row,
            t.stored.groups,
            t.day,
            t.expected.rf,
            t.expected.min_isr,
            t.restart_grace,
        )
        for t in tasks
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in TASKS)
    return pa.table([pa.array([*c], f.type) for c, f in zip(columns, TASKS, strict=True)], schema=TASKS)


def task_of(row: Mapping[str, Any], picked: Picked | None) -> JudgeTask:
    """Returns the task of a row of `TASKS`."""
    name, groups = row["cluster"], row["groups"]
    stored = StoredCluster(
        name, row["partitions"], row["document"], row["row"], None if groups is None else tuple(groups)
    )
    expected = Expected(row["expected_rf"], row["expected_min_isr"])
    return JudgeTask(name, stored, row["day"], expected, row["restart_grace"], picked)


@dataclass(frozen=True, slots=True)
class RowJudge:
    """Judges the cluster of a row of `TASKS` and returns a record batch of `ANSWERS`; a failure is an answer, too."""

    judge: Callable[[JudgeTask], Judged]

    def __call__(self, row: Mapping[str, Any], picked: Picked | None) -> Any:
        return answers_batch(many(self.judge, [(row["cluster"], task_of(row, picked))]))


def answers_batch(done: Sequence[Done[Judged]]) -> Any:
    """Returns results as a pyarrow record batch of `ANSWERS`."""
    results = [d.result for d in done]
    rows = [row for result in results if result is not None for row in result.rows]
    columns = [column_of([getattr(row, f.name) for row in rows], f.type) for f in _FINDING]
    starts: list[int | None] = []
    at = 0
    for result in results:
        starts.append(None if result is None else at)
        at += 0 if result is None else len(result.rows)
    offsets = pa.array([*starts, at], pa.int32())
    findings = pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=[*_FINDING]))
    return pa.RecordBatch.from_arrays(
        [
            pa.array([d.name for d in done], pa.string()),
            column_of([d.error or ("" if d.result else "the worker returned no result") for d in done], pa.string()),
            pa.array([d.seconds for d in done], pa.float64()),
            column_of([None if r is None else json.dumps(asdict(r.digest)) for r in results], pa.string()),
            findings.cast(ANSWERS.field("findings").type),
        ],
        schema=ANSWERS,
    )


def done_of(row: Mapping[str, Any]) -> Done[Judged]:
    """Returns the result of a row of `ANSWERS`."""
    if row["error"]:
        return Done(row["cluster"], None, row["error"], row["seconds"])
    digest = json.loads(row["digest"])
    digest["could_not_read"] = tuple(digest["could_not_read"])
    findings = tuple(map(_finding, row["findings"]))
    return Done(row["cluster"], Judged(findings, ClusterDigest(**digest)), "", row["seconds"])


def _finding(values: Mapping[str, Any]) -> FindingRow:
    fields: dict[str, Any] = {name: tuple(value) if name in _LISTS else value for name, value in values.items()}
    return FindingRow(**fields)
