"""One stored cluster, judged by the checks that judge a live one.

The sieve picks candidate rows over whole columns; the catalogue's own loop judges them; descriptions and cluster checks
ask a case file that knows everything the snapshot knew and reads what it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kfix.adapters.fleet.case import StoredCase, StoredCluster, open_stored
from kfix.adapters.fleet.walks import ASK_WHO_IS_IN_SYNC, walk_of
from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, PartitionCheck, Rows
from kfix.derive.predicate import Matcher, Predicate
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Diagnosis, Finding
from kfix.model.expected import EXPECTED, EXPECTED_TYPES, Expected
from kfix.model.timing import TIMING

Hits = tuple[tuple[PartitionCheck, Rows], ...]
Found = tuple[tuple[ClusterCheck, tuple[Finding, ...]], ...]


@dataclass(frozen=True)
class Bench:
    """The catalogue, as whoever knows it hands it over. `matcher` is that of `predicates`, in the order of `checks`.

    `conclude` makes the diagnosis of what was found.
    """

    checks: tuple[PartitionCheck, ...]
    predicates: tuple[Predicate, ...]
    matcher: Matcher
    cluster_checks: tuple[ClusterCheck, ...]
    conclude: Callable[[CaseFile, Hits, Found], Diagnosis]
    restart_grace: float = TIMING.restart_grace
    expected: Expected = EXPECTED


def judge(table: str, bench: Bench) -> tuple[Diagnosis, Snapshot]:
    """`table` is the path or URL of a cluster's partitions. UsageError and UnreachableError name the file.

    The snapshot has everything but the partitions at hand; those it reads when it is asked for them.
    """
    names = frozenset[str]().union(*(p.names for p in bench.predicates)) - EXPECTED_TYPES.keys()
    cluster = StoredCluster(table, sorted(names), bench.expected)
    case = open_stored(cluster, bench.restart_grace)
    candidates = cluster.sieve.rows_of(bench.predicates)
    walks = {c.code: _rows_of(walk_of(c, case), cluster) for c in bench.cluster_checks}
    cluster.fetch(n for numbers in (candidates, *walks.values()) for n in numbers or ())
    matched = bench.matcher(cluster.at(candidates), bench.expected)
    hits = tuple(
        (_about(check, case, cluster), tuple(rows)) for check, rows in zip(bench.checks, matched, strict=True) if rows
    )
    found = ((c, tuple(c.check(_walking(case, walks[c.code], cluster)))) for c in bench.cluster_checks)
    # Conclusions count the rows of their case: they are given none, and told the numbers.
    diagnosis = bench.conclude(case.looking_at(()), hits, tuple((check, f) for check, f in found if f))
    told = {name: int(cluster.document[name]) for name in ("topics", "partitions")}
    return replace(diagnosis, looked_at={**diagnosis.looked_at, **told}), case.snapshot


def _about(check: PartitionCheck, case: StoredCase, cluster: StoredCluster) -> PartitionCheck:
    """The same check, describing from the whole case whichever it is given."""

    def describe(rows: Rows, _: CaseFile) -> Iterator[Finding]:
        asks = check.code in ASK_WHO_IS_IN_SYNC
        return check.describe(rows, case.looking_at(cluster.samples) if asks else case)

    return replace(check, describe=describe)


def _rows_of(condition: Predicate | None, cluster: StoredCluster) -> list[int] | None:
    return None if condition is None else cluster.sieve.rows_of([condition])


def _walking(case: StoredCase, numbers: list[int] | None, cluster: StoredCluster) -> StoredCase:
    return case if numbers is None else case.looking_at(cluster.at(numbers))
