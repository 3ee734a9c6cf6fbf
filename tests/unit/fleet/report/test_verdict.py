"""The exit code by threshold, what counts as news, and the numbers that all outputs share."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kfix.core.errors import UsageError
from kfix.fleet.model.audit import fleet_score
from kfix.fleet.report.order import first_things
from kfix.fleet.report.totals import fresh_expiries, has_news, totals
from kfix.fleet.report.verdict import FailOn, exit_code, fail_on, unread
from tests.each import for_each
from tests.unit.fleet.report.reports import QUIET, dark, empty, report

BASE = replace(report(8, days=3), mutes=())
FINDING = replace(
    BASE.findings[0], cluster="a", head="", muted=False, status="still", prevention=False, blocked_groups=()
)
CLUSTER = replace(BASE.clusters[-1], cluster="a", collected=True, why="", maintenance="", score=50, **QUIET)
LOST = replace(CLUSTER, cluster="b", collected=False, why="refused", score=-1)


def one(*findings, clusters=(CLUSTER,), unread=()):
    return replace(BASE, clusters=clusters, findings=findings, mutes=(), could_not_read=unread, cluster_trends=())


def finding(severity, status="still", **changes):
    rank = {"info": 0, "warning": 1, "critical": 2}[severity]
    return replace(FINDING, severity=severity, rank=rank, status=status, key=f"KFX1:{severity}{status}", **changes)


@for_each(
    ("findings", "expected"),
    [
        ([], (0, 0, 0, 0, 0)),
        ([finding("info", "new")], (0, 0, 0, 0, 0)),
        ([finding("warning")], (20, 0, 0, 0, 0)),
        ([finding("warning", "worse")], (20, 0, 20, 0, 0)),
        ([finding("critical")], (21, 21, 0, 0, 0)),
        ([finding("critical", "unknown")], (21, 21, 0, 0, 0)),
        ([finding("critical", "new")], (21, 21, 21, 21, 0)),
        ([finding("critical", "fixed")], (0, 0, 0, 0, 0)),
        ([finding("critical", "new", muted=True)], (0, 0, 0, 0, 0)),
        ([finding("critical", "new", head="KFX1:x")], (21, 21, 21, 21, 0)),
    ],
)
def test_the_threshold_decides(findings, expected):
    given = one(*findings)
    assert tuple(exit_code(given, t) for t in FailOn) == expected


def test_what_was_not_read_is_22_unless_something_critical_was_seen():
    lost = one(finding("warning"), clusters=(LOST, CLUSTER))
    assert [exit_code(lost, t) for t in FailOn] == [22, 22, 22, 22, 0]
    assert exit_code(one(finding("critical"), clusters=(LOST, CLUSTER))) == 21
    assert exit_code(one(unread=("a: zookeeper: refused",))) == 22
    assert unread(one(clusters=(LOST,), unread=("b: refused",))) == ("b: refused",)


def test_a_cluster_in_maintenance_raises_no_alert():
    at_work = replace(CLUSTER, maintenance="upgrade")
    away = replace(LOST, maintenance="upgrade")
    given = one(finding("critical", "new"), clusters=(away, at_work), unread=("a: zookeeper: refused",))
    assert [exit_code(given, t) for t in FailOn] == [0] * 5
    assert not has_news(given)


def test_an_unknown_threshold_is_refused():
    assert fail_on("new-critical") is FailOn.NEW_CRITICAL
    with pytest.raises(UsageError, match="--fail-on: 'often' is not one of warning, critical, "):
        fail_on("often")


def test_each_cause_is_one_entry_and_open_critical_findings_are_among_them():
    head, child = finding("warning", "new"), finding("critical", "new", head="KFX1:warningnew")
    other = finding("critical", "worse", head="KFX1:muted")
    old, more = finding("critical", "still"), finding("warning", "worse", head="KFX1:criticalstill")
    given = one(head, child, other, old, more, finding("critical", "worse", muted=True), finding("warning", "still"))
    assert {e.row.key: e.fresh for e in first_things(given)} == {head.key: (), other.key: (), old.key: (more,)}
    assert first_things(one(old)) != ()
    assert first_things(one(old), only_new=True) == ()
    assert has_news(given)
    assert not has_news(one(finding("critical")))


def test_what_one_runbook_ends_in_a_cluster_is_one_entry():
    """Six partitions that wait for one controller were six entries with the same next step."""
    waits = {"remedy": "Resolve KFX203. Then: elect", "command": "kfix runbook show elect", "runbook": "elect"}
    stuck = [
        replace(finding("critical", "new"), **waits, key=f"KFX102:t-{n}", n_partitions=1, blocked_groups=("a",))
        for n in range(3)
    ]
    of_another = replace(stuck[0], key="KFX102:t-9", command="kfix runbook apply elect -p topic=t")
    old = replace(stuck[0], key="KFX102:t-8", status="still")
    found = first_things(one(*stuck, of_another, old))
    assert [(e.row.key, e.alike, e.size) for e in found] == [
        ("KFX102:t-0", 2, 3), ("KFX102:t-8", 0, 1), ("KFX102:t-9", 0, 1)
    ]  # fmt: skip
    assert found[0].notes == ("new", "blocks 1 group", "2 more with the same runbook")


def test_what_blocks_clients_comes_first_then_criticality_size_and_risk():
    """A stuck coordinator of a cluster at nine times the risk came after two lone dead brokers, by the alphabet."""
    cards = [
        replace(CLUSTER, cluster=name, criticality=criticality, risk=risk, maintenance=maintenance)
        for name, criticality, risk, maintenance in (
            ("a", "normal", 40, ""),
            ("b", "normal", 40, ""),
            ("c", "normal", 50, ""),
            ("d", "high", 40, ""),
            ("e", "critical", 900, "upgrade"),
            ("z", "normal", 360, ""),
        )
    ]
    dead = [replace(finding("critical", "new"), cluster=name, n_partitions=9) for name in "abcde"]
    dead[1] = replace(dead[1], n_partitions=50)
    stuck = replace(finding("critical", "still"), cluster="z", blocked_groups=("billing",))
    slow = replace(finding("warning", "new"), cluster="d", n_partitions=900)
    waiting = replace(finding("warning", "new"), cluster="a", key="KFX9:w", blocked_groups=("mail", "shop"))
    given = one(*dead, stuck, slow, waiting, clusters=cards)
    assert [(e.row.cluster, e.row.severity) for e in first_things(given)] == [
        ("d", "critical"),
        ("a", "warning"),
        ("z", "critical"),
        ("b", "critical"),
        ("c", "critical"),
        ("a", "critical"),
        ("d", "warning"),
        ("e", "critical"),
    ]


def test_a_latent_risk_of_many_clusters_is_one_entry():
    clusters = [replace(CLUSTER, cluster=f"c{n}") for n in range(5)]
    risks = [replace(finding("warning", "new"), cluster=c.cluster, prevention=True, n_partitions=3) for c in clusters]
    [entry] = first_things(one(*risks, clusters=clusters))
    assert (entry.clusters, entry.size, entry.where) == (("c0", "c1", "c2", "c3", "c4"), 15, "c0, c1, c2 and 2 more")
    assert len(first_things(one(*(replace(r, prevention=False) for r in risks), clusters=clusters))) == 5


def test_the_score_of_a_fleet_moves_at_both_ends():
    well, sick = [0] * 60, [1000] * 60
    for points in (well, sick):
        before = fleet_score(points)
        points[7] += 12 * 40
        assert 0 < fleet_score(points) < before <= 100
    assert (fleet_score(well[:7]), fleet_score([])) == (100, -1)


def test_a_mute_that_ended_since_the_audit_before_is_news():
    mute = report(1).mutes[1]
    for ago, fresh in ((0, True), (1, True), (2, False)):
        given = replace(one(), mutes=(replace(mute, until=BASE.previous_day - timedelta(days=ago - 1)),))
        assert bool(fresh_expiries(given)) is fresh
        assert has_news(given) is fresh


def test_totals_are_sums_of_the_score_cards():
    sums = totals(BASE)
    assert sums.clusters == 8
    assert sums.critical == sum(c.critical for c in BASE.clusters)
    assert sums.score == BASE.trend[-1].score
    assert totals(replace(BASE, trend=())).score == sums.score
    assert totals(dark()).score == -1
    assert totals(dark()).unknown == 4
    assert (totals(empty()).score, totals(empty()).previous_score) == (100, -1)
