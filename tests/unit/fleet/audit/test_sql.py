"""The figures of a report: what is muted or fixed offends nobody, and who was not collected has no score."""

from __future__ import annotations

import pyarrow as pa

from kfix.fleet.audit.sql import OFFENDERS, TREND
from kfix.fleet.engines.embedded import EmbeddedEngine
from tests.each import for_each


@for_each(
    ("status", "muted", "counts"),
    [("new", False, True), ("still", False, True), ("unknown", False, True), ("fixed", False, False)]
    + [(status, True, False) for status in ("new", "still", "fixed")],
)
def test_a_finding_offends_unless_it_is_fixed_or_muted(status: str, muted: bool, counts: bool) -> None:
    row = {"code": "KFX101", "cluster": "a", "n_partitions": 3, "rank": 2, "status": status, "muted": muted}
    other = {"code": "KFX302", "cluster": "b", "n_partitions": 1, "rank": 1, "status": "new", "muted": False}
    found = EmbeddedEngine(1).query(OFFENDERS, {"findings": pa.Table.from_pylist([row, other])}).to_pylist()
    assert [each["code"] for each in found] == (["KFX101", "KFX302"] if counts else ["KFX302"])


def test_the_scores_of_clusters_that_were_not_collected_are_left_out() -> None:
    def card(cluster: str, risk: int, level: str, *, collected: bool, day: str = "2026-01-01") -> dict[str, object]:
        counts = {"critical": 1, "warning": 2, "new": 3, "fixed": 4, "risk": risk, "criticality": level}
        return {"day": day, "run": "r", "cluster": cluster, "collected": collected, **counts}

    # 40 points each, and of those that were not read none that counts.
    levels = {"low": 40, "normal": 80, "high": 120, "critical": 160}
    cards = [card(level, risk, level, collected=True) for level, risk in levels.items()]
    cards += [card("c", 300, "high", collected=False), card("low", 100, "low", collected=False, day="2026-01-02")]
    found = EmbeddedEngine(1).query(TREND, {"clusters": pa.Table.from_pylist(cards)}).to_pylist()
    assert [(row["clusters"], row["collected"], row["twelfths"]) for row in found] == [(5, 4, 1920), (1, 0, 0)]
    assert [row["critical"] for row in found] == [5, 1]
