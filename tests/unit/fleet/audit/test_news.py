"""What a channel reports: everything since its own last delivery, once."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from kfix.fleet.audit.news import _with_status, as_news_of, delivered, opening
from kfix.fleet.model.audit import OPEN
from kfix.fleet.model.delivery import Reported
from kfix.fleet.report.order import first_things
from kfix.fleet.report.totals import has_news, passed, totals
from tests.each import for_each
from tests.unit.fleet.report.reports import DAY, report

BASE = report(1, findings=3)
ROW = replace(BASE.findings[0], head="", muted=False, rank=1, severity="warning", prevention=False, reported=True)
CARD = replace(BASE.clusters[0], cluster="a", collected=True, why="", maintenance="", fixed=0)


def news(report):
    return [entry.row for entry in first_things(report, only_new=True)]


def row(key, status="still", **more):
    return replace(ROW, **{"cluster": "a", "key": key, "status": status, "since": DAY, "n_partitions": 4, **more})


def audit(number, *rows, **card):
    day = DAY + timedelta(days=number)
    return replace(
        BASE, day=day, run=f"r{number}", clusters=(replace(CARD, **card),), findings=rows, trend=(),
        previous_day=day - timedelta(days=1), previous_run=f"r{number - 1}", manifest={"began": 1000.0 * number},
        mutes=(),
    )  # fmt: skip


def keys(found):
    return [f.key for f in found]


def test_the_first_delivery_of_a_channel_reports_what_the_audit_calls_new_or_worse():
    now = audit(5, row("old"), row("new", "new"), row("worse", "worse"), row("gone", "fixed"))
    seen = as_news_of(now, opening(now), ())
    assert [f.status for f in seen.findings] == [f.status for f in sorted(now.findings, key=lambda f: f.key)]
    assert (seen.previous_run, keys(news(seen)), keys(seen.passed)) == ("r4", ["new", "worse"], [])


def test_a_delivery_that_failed_loses_nothing():
    first = audit(1, row("old"), row("a", "new"), row("b", "new"), row("c", "worse"))
    known = opening(first)
    second = audit(2, row("old"), row("a"), row("b", "fixed"), row("c"), row("d", "new"))
    seen = as_news_of(second, known, first.findings)
    assert keys(news(seen)) == ["a", "c", "d"]
    assert [f.status for f in news(seen)] == ["new", "worse", "new"]
    assert keys(passed(seen)) == ["b"]
    assert (totals(seen).new, totals(seen).worse, totals(seen).still, seen.previous_run) == (2, 1, 1, "r0")
    after = delivered(seen, known)
    third = audit(3, row("old"), row("a"), row("c"), row("d"))
    assert not has_news(as_news_of(third, after, ()))
    assert as_news_of(third, after, ()).previous_run == "r2"


def test_an_audit_in_between_takes_no_news_away():
    morning = audit(1, row("a"))
    known = delivered(morning, opening(morning))
    evening = audit(2, row("a", "worse", n_partitions=40), row("b", "new", since=DAY + timedelta(2)))
    cron = audit(3, row("a", n_partitions=40), row("b", since=DAY + timedelta(2)))
    assert [f.status for f in news(as_news_of(cron, known, evening.findings))] == ["worse", "new"]


def test_what_began_again_is_new_again():
    first = audit(1, row("a"))
    known = delivered(first, opening(first))
    gone = audit(2, row("a", "fixed"))
    later = audit(3, row("a", since=DAY + timedelta(3)))
    assert keys(news(as_news_of(later, known, gone.findings))) == ["a"]
    assert keys(news(as_news_of(later, delivered(gone, known), ()))) == ["a"]


@pytest.mark.parametrize("held", [{"muted": True}, {"reported": False}])
def test_what_a_mute_or_a_window_holds_back_is_reported_when_it_ends(held):
    card = {} if held.get("muted") else {"maintenance": "upgrade"}
    first = audit(1, row("a", "new", **{"reported": False, **held}), **card)
    seen = as_news_of(first, opening(first), ())
    assert not has_news(seen)
    then = audit(2, row("a"))
    assert keys(news(as_news_of(then, delivered(seen, opening(first)), ()))) == ["a"]


def test_what_readers_know_stays_known_through_a_mute_and_outside_an_audit():
    first = audit(1, row("a"), row("b"))
    known = delivered(first, opening(first))
    muted = delivered(audit(2, row("a", muted=True), row("b")), known)
    other = replace(audit(3), clusters=(replace(CARD, cluster="z"),))
    later = audit(4, row("a"), row("b"))
    assert not has_news(as_news_of(later, delivered(other, muted), ()))


def test_a_cluster_that_was_not_read_hides_no_finding_that_was_not_delivered():
    first = audit(1, row("a", "new"))
    now = audit(2, row("a", "unknown"), collected=False, score=-1)
    assert keys(news(as_news_of(now, opening(first), first.findings))) == ["a"]
    after = delivered(first, opening(first))
    assert not has_news(as_news_of(now, after, ()))


@for_each("seed", range(60))
def test_every_event_is_in_a_delivery_after_it_and_quiet_days_are_quiet(seed):
    """Random findings come, grow and go; deliveries fail at random. No event is lost, and none is repeated."""
    dice = random.Random(seed)
    known = None
    now, pending, between = {}, set(), []
    for number in range(1, 25):
        rows, events = [], set()
        for key in "abcdef":
            was = now.get(key)
            if dice.random() < 0.25:
                now[key] = None if was else row(key, since=DAY + timedelta(number), n_partitions=dice.choice((2, 9)))
            elif was and dice.random() < 0.2:
                now[key] = replace(was, n_partitions=was.n_partitions * dice.choice((1, 2)))
            is_ = now.get(key)
            grown = was and is_ and 2 * is_.n_partitions > 3 * was.n_partitions
            status = "new" if not was else "worse" if grown else "still"
            if is_:
                rows.append(replace(is_, status=status))
            elif was:
                rows.append(replace(was, status="fixed"))
            events |= {key} if is_ and status != "still" else set()
        made = audit(number, *rows)
        known = known or opening(made)
        pending |= events
        seen = as_news_of(made, known, between)
        reported = {*keys(news(seen)), *keys(passed(seen))}
        open_now = {f.key for f in made.findings if f.status in OPEN}
        was_known = {key for _, key in known.findings}
        # Growth of a finding that is gone before anybody heard of it is no news.
        assert {k for k in pending if k in open_now or k not in was_known} <= reported, number
        assert reported <= pending, number
        if dice.random() < 0.5:
            known, between, pending = delivered(seen, known), [], set()
        else:
            between += made.findings


@for_each(
    ("now", "meanwhile", "before", "status"),
    [
        ("still", None, True, "still"),
        ("still", "new", True, "new"),
        ("still", "worse", True, "worse"),
        ("worse", None, True, "worse"),
        ("worse", "new", True, "new"),
        ("new", "worse", True, "new"),
        ("still", None, False, "new"),
        ("fixed", "new", True, "fixed"),
    ],
)
def test_what_an_audit_in_between_called_new_is_new(now, meanwhile, before, status):
    """`before`: the last delivery had the finding."""
    between = {} if meanwhile is None else {("a", "k"): row("k", meanwhile)}
    known = Reported(DAY, 1, 4, True) if before else None
    assert _with_status(row("k", now), known, between).status == status
