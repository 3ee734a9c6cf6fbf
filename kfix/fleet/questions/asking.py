"""Answers a question, and names the clusters of which its facts were not read: their silence is no all-clear."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kfix.fleet.engines.engine import Engine
from kfix.fleet.model.answers import ShownAnswer
from kfix.fleet.questions.catalogue import Question
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.spec import rows_table
from kfix.fleet.store.tables import AUDITED, CLUSTERS

#: What a question needs whose answer is made of the findings of audits.
_AUDIT: Final = "audit"
_OF_AUDITS: Final = frozenset(spec.name for spec in AUDITED if spec is not CLUSTERS)
#: What was not read in the last of the runs: of clusters, of the facts in `wanted`, and runs to compare with.
_NOT_READ: Final = """
WITH readings AS (
  SELECT s.cluster, s.day, s.run, s.collected, s.why,
         ROW_NUMBER() OVER (PARTITION BY s.cluster ORDER BY r.began DESC, s.run DESC) AS place
  FROM snapshots s JOIN runs r ON r.day = s.day AND r.run = s.run
), last_ones AS (
  SELECT n.cluster, n.day, n.run, w.fact, w.runs FROM readings n CROSS JOIN wanted w WHERE n.place = 1 AND n.collected
), known AS (
  SELECT DISTINCT f.cluster, f.fact, f.day, f.run FROM facts f
), read_in AS (
  SELECT x.cluster, x.fact, COUNT(*) AS runs
  FROM (SELECT DISTINCT f.cluster, f.fact, f.day, f.run FROM facts f WHERE f.was_read) x
  GROUP BY x.cluster, x.fact
), judged AS (
  SELECT DISTINCT c.cluster FROM clusters c WHERE c.collected
)
SELECT n.cluster, 'cluster' AS fact, CAST(NULL AS BIGINT) AS broker, n.why
FROM readings n WHERE n.place = 1 AND NOT n.collected
UNION ALL
SELECT l.cluster, l.fact, CAST(NULL AS BIGINT) AS broker, 'this run did not ask for it' AS why
FROM last_ones l LEFT JOIN known f ON f.cluster = l.cluster AND f.fact = l.fact AND f.day = l.day AND f.run = l.run
WHERE f.cluster IS NULL AND l.fact <> 'audit'
UNION ALL
SELECT l.cluster, l.fact, f.broker, f.why
FROM last_ones l JOIN facts f ON f.cluster = l.cluster AND f.fact = l.fact AND f.day = l.day AND f.run = l.run
WHERE NOT f.was_read
UNION ALL
SELECT l.cluster, l.fact, CAST(NULL AS BIGINT) AS broker, 'one run alone has it: nothing to compare with' AS why
FROM last_ones l JOIN read_in f ON f.cluster = l.cluster AND f.fact = l.fact
WHERE l.runs > 1 AND f.runs = 1
UNION ALL
SELECT l.cluster, l.fact, CAST(NULL AS BIGINT) AS broker, 'no audit of these days has judged it' AS why
FROM last_ones l LEFT JOIN judged j ON j.cluster = l.cluster
WHERE l.fact = 'audit' AND j.cluster IS NULL
ORDER BY cluster, fact, broker, why
"""
_WANTED: Final = pa.schema([("fact", pa.string()), ("runs", pa.int64())])
_ITS_TABLES: Final = ("snapshots", "runs", "facts", "clusters")


class NotRead(NamedTuple):
    """What of a cluster was not read: `fact` is a table, `cluster` for the whole cluster; `broker` is None for all."""

    cluster: str
    fact: str
    broker: int | None
    why: str

    @property
    def words(self) -> str:
        if self.fact == "cluster":
            return f"{self.cluster}: {self.why}"
        return f"{self.cluster}: {self.fact}{'' if self.broker is None else f' of broker {self.broker}'}: {self.why}"


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """The answer to a question: `rows` is a pyarrow table. Without rows it is an all-clear only if all was read."""

    question: Question
    rows: Any
    not_read: tuple[NotRead, ...]


def shown(answer: FleetAnswer) -> ShownAnswer:
    """Returns an answer for a report."""
    rows = tuple(zip(*(column.to_pylist() for column in answer.rows.columns), strict=True))
    lacks = tuple(each.words for each in answer.not_read)
    asked = answer.question
    return ShownAnswer(asked.name, asked.text, asked.columns, rows, lacks, asked.unknown)


def ask(
    root: StoreLocation, engine: Engine, asked: Question, *, days: int, run: str = "", snapshots: int | None = None
) -> FleetAnswer:
    """Answers over the last runs that the question reads, or the last `snapshots`, and the audits of `days` days.

    Raises UsageError if the store has no such run.
    """
    shown = dict(
        tables(root, days=days, run=run, snapshots=snapshots or asked.runs, only={*asked.tables, *_ITS_TABLES})
    )
    rows = engine.query(asked.sql, {name: shown[name] for name in asked.tables})
    wanted = [(fact, asked.runs) for fact in asked.facts]
    if _OF_AUDITS & {*asked.tables}:
        wanted.append((_AUDIT, 1))
    given = rows_table(_WANTED, wanted)
    lacks = engine.query(_NOT_READ, {**{name: shown[name] for name in _ITS_TABLES}, "wanted": given})
    return FleetAnswer(asked, rows, tuple(NotRead(*row.values()) for row in lacks.to_pylist()))
