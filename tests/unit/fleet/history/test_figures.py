"""Figures over episodes and growth: medians, bounds, who repeats, and when a limit is reached."""

from datetime import UTC, date, datetime, timedelta

from kfix.fleet.history.figures import ReplicaLimits, by_day, churn_of, growth_of, offenders_of, repair_times
from kfix.fleet.model.history import Episode

START = datetime(2026, 3, 1, 2, tzinfo=UTC)
LIMITS = ReplicaLimits(4000, 200_000)
TODAY = date(2026, 3, 31)


def episode(began, ended, *, before=True, cluster="a", code="KFX302", owner="team", state="", **more):
    def at(day):
        return START + timedelta(days=day)

    given = {
        "cluster": cluster, "key": f"{code}:x", "code": code, "owner": owner, "version": "2.7", "severity": "warning",
        "rank": 1, "prevention": False, "muted": False, "began": at(began),
        "not_before": at(began - 1) if before else None,
        "last_seen": at(began if ended is None else ended - 1), "ended": None if ended is None else at(ended),
        "state": state or ("open" if ended is None else "ended"), "audits": 1, "unread": 0, "partitions": 0,
        "peak_partitions": 0, "reopened": 0,
    }  # fmt: skip
    return Episode(**(given | more))


def test_times_to_repair_are_medians_with_bounds():
    found = repair_times(
        [
            episode(0, 1),
            episode(2, 5),
            episode(10, 20, code="KFX101", owner="other"),
            episode(30, None),
            episode(3, None, state="unknown"),
        ]
    )
    whole = {(r.by, r.name): r for r in found}
    day = 86_400
    all_ = whole["all", ""]
    assert (all_.ended, all_.open, all_.median, all_.low, all_.high) == (3, 1, 3 * day, 2 * day, 4 * day)
    assert all_.mean == (1 + 3 + 10) * day / 3
    assert whole["code", "KFX302"].median == 2 * day
    assert (whole["owner", "other"].ended, whole["owner", "other"].median) == (1, 10 * day)
    assert repair_times([]) == ()


def test_an_unknown_begin_bounds_nothing_from_above():
    [one, *_] = repair_times([episode(0, 1, before=False), episode(0, 2, before=False), episode(4, 5)])
    assert (one.high, one.median) == (None, 86_400)
    [none, *_] = repair_times([episode(0, None)])
    assert (none.ended, none.median, none.high, none.open) == (0, -1, None, 1)


def test_owners_and_versions_with_findings_in_several_audits_repeat():
    found = offenders_of(
        [
            episode(0, 1), episode(0, 2, cluster="b"), episode(4, 5), episode(4, 5, owner="once"),
            episode(5, 6, owner="latent", prevention=True), episode(9, 10, owner="latent", prevention=True),
            episode(5, 6, owner="muted", muted=True), episode(9, 10, owner="muted", muted=True),
            episode(5, 6, owner="", version=""),
        ]
    )  # fmt: skip
    assert [(o.by, o.name, o.audits, o.times) for o in found] == [("owner", "team", 2, 3), ("version", "2.7", 2, 4)]


def test_rates_are_by_day():
    assert (by_day(3, 86_400), by_day(1, 7 * 86_400), by_day(5, 0)) == (3.0, 0.1429, 0.0)
    churn = churn_of("a", "team", 2 * 86_400, 300, {"leader": 4, "restart": 1})
    assert (churn.leader, churn.isr, churn.restarts, churn.days) == (2.0, 0.0, 0.5, 2.0)


def rows(n, grow, *, mode="zookeeper", start=3000):
    return [
        {"at_s": 86_400 * i, "mode": mode, "partitions": 5000 + i, "replicas": 190_000 + 100 * i,
         "fullest": start + grow * i, "brokers": 60}
        for i in range(n)
    ]  # fmt: skip


def test_the_limits_of_kfx611_are_forecast():
    found = {g.measure: g for g in growth_of("a", "team", rows(30, 10), LIMITS, TODAY)}
    fullest = found["replicas of a broker"]
    assert (fullest.value, fullest.per_day, fullest.limit, fullest.reached) == (3290, 10.0, 4000, False)
    assert fullest.expected == fullest.earliest == fullest.latest == TODAY + timedelta(days=71)
    assert found["replicas"].expected == TODAY + timedelta(days=71)
    assert (found["partitions"].per_day, found["partitions"].limit, found["partitions"].expected) == (1.0, None, None)
    assert found["skew"].value == 100 * 3290 * 60 // 192_900


def test_a_cluster_on_kraft_has_no_limit_in_total():
    found = {g.measure: g for g in growth_of("a", "team", rows(30, 10, mode="kraft"), LIMITS, TODAY)}
    assert (found["replicas"].limit, found["replicas"].expected) == (None, None)
    assert found["replicas of a broker"].limit == 4000


def test_one_run_shows_a_limit_that_is_met_and_no_trend():
    assert growth_of("a", "team", [], LIMITS, TODAY) == ()
    [met] = growth_of("a", "team", rows(1, 0, start=4000), LIMITS, TODAY)
    assert (met.measure, met.reached, met.points) == ("replicas of a broker", True, 1)
