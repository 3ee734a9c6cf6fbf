"""Failures on KRaft: eligible replicas, the majority of the controllers, and what of them was not read."""

from dataclasses import replace

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.forecast import Fate
from kfix.core.errors import UsageError
from kfix.core.failures.judging import forecast
from kfix.core.failures.masks import states_of
from kfix.core.failures.scenarios import every_failure, failure_of
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.whatif.table import exit_code, forecast_text
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.kraft_clusters import UNCLEAN, answer, healthy, kraft, lost, quorum

LEDGER = TopicPartition("ledger", 0)


def whole():
    """A healthy cluster whose settings were read."""
    configs = {broker: {"min.insync.replicas": "1"} for broker in (1, 2, 3)}
    return replace(healthy(), broker_configs=configs, quorum=quorum(topic_settings={}))


def last_in_sync(*, elr=(), unclean="false", **changes):
    """Partition ledger-0 of brokers 1, 2, 3 has broker 1 as its last in-sync replica."""
    paper = kraft(base().topic("ledger", 1, replicas=[[1, 2, 3]]))
    paper.parts[LEDGER].isr = (1,)
    known = {LEDGER: EligibleLeaders(elr, ())} if elr is not None else {}
    settings = {node: {UNCLEAN: unclean} for node in (100, 101, 102)}
    return paper.snapshot(quorum=quorum(eligible=known, controller_settings=settings, **changes))


def judged(snapshot, down):
    case = open_case(snapshot)
    return forecast(case, (failure_of(down, case),), named=True)


def fate(snapshot, down="broker=1"):
    [found] = [(p.fate, p.leader) for p in judged(snapshot, down).failures[0].partitions if p.tp == LEDGER]
    return found


def test_an_eligible_replica_takes_over_and_loses_nothing():
    assert fate(last_in_sync(elr=(3,))) == (Fate.MOVES, 3)
    assert fate(last_in_sync(elr=(3,)), "broker=1,3") == (Fate.STOPS, -1)
    assert fate(last_in_sync(elr=())) == (Fate.STOPS, -1)


def test_the_setting_of_the_active_controller_decides_on_unclean_elections():
    assert fate(last_in_sync(unclean="true")) == (Fate.UNCLEAN, 2)
    assert fate(last_in_sync(elr=(3,), unclean="true")) == (Fate.MOVES, 3)


def test_eligible_replicas_that_were_not_read_leave_the_partition_unknown():
    unread = last_in_sync(elr=None)
    assert fate(unread) == (Fate.UNKNOWN, None)
    assert exit_code(judged(unread, "broker=1")) == 22
    assert fate(last_in_sync(elr=None, features={"metadata.version": 21})) == (Fate.STOPS, -1), "it has none"
    assert fate(last_in_sync(elr=None), "broker=1,2,3") == (Fate.STOPS, -1), "no replica is left anyway"


def test_a_healthy_cluster_is_judged_completely():
    found = judged(whole(), "broker=1")
    assert (found.unknown, found.failures[0].unjudged) == ((), 0)
    assert found.failures[0].controller_moves is False
    assert "the active controller stays" in forecast_text(found, chosen=True)


def test_one_controller_of_three_may_fail_and_two_may_not():
    one, two = (judged(whole(), f"controller={each}") for each in ("100", "100,101"))
    assert (one.failures[0].quorum_lost, one.failures[0].controller_moves, exit_code(one)) == (False, True, 0)
    assert "another controller becomes active" in forecast_text(one, chosen=True)
    assert (two.failures[0].quorum_lost, exit_code(two)) == (True, 20)
    assert "if controllers 100, 101 went down, the controllers would lose their majority" in forecast_text(
        two, chosen=True
    )


def test_a_controller_that_does_not_follow_is_none_to_count_on():
    weak = replace(healthy(), quorum=quorum({102: 60.0}, controllers=()))
    assert judged(weak, "controller=101").failures[0].quorum_lost is True
    unknown = replace(healthy(), quorum=quorum({101: -1.0, 102: -1.0}, controllers=()))
    assert judged(unknown, "controller=100").failures[0].quorum_lost is None
    dead = (answer(100, active=True), answer(101), answer(102, error="connection refused"))
    for fetched in (-1.0, 0.5):  # It died before 100 became active, or just now.
        gone = replace(healthy(), quorum=quorum({102: fetched}, controllers=dead))
        assert judged(gone, "controller=101").failures[0].quorum_lost is True


def test_a_broker_in_the_process_of_a_controller_takes_it_down():
    """Brokers 1, 2, 3 are the controllers, too: two of them are the majority."""
    voters = tuple(each._replace(node=node) for each, node in zip(quorum().voters, (1, 2, 3), strict=True))
    both = replace(healthy(), quorum=quorum(leader=1, voters=voters, controllers=()))
    found = judged(both, "broker=1,2").failures[0]
    assert (found.quorum_lost, found.controller_moves) == (True, True)
    assert found.stops == sum(p.leader == -1 for p in found.partitions) > 0
    assert found.under_min_isr == sum(p.leader == 3 for p in found.partitions) > 0, "acks=all waits for the dead"
    assert judged(both, "controller=1").failures[0].quorum_lost is False
    [sentence] = states_of(open_case(both)).lacks
    assert "processes of brokers" in sentence


def test_a_quorum_that_was_not_read_is_unknown():
    found = judged(replace(healthy(), quorum=lost(c101="no answer in time")), "broker=1")
    assert found.failures[0].controller_moves is None
    assert found.failures[0].quorum_lost is None
    assert any("quorum was not read" in text for text in found.unknown)
    with pytest.raises(UsageError, match="no KRaft quorum was read"):
        failure_of("controller=100", open_case(replace(healthy(), quorum=None)))
    with pytest.raises(UsageError, match="no controller '9'; the voters are 100, 101, 102"):
        failure_of("controller=9", open_case(healthy()))


def test_each_controller_is_one_of_the_failures():
    names = {tuple(sorted(each.controllers)) for each in every_failure(open_case(healthy()))}
    assert {(100,), (101,), (102,)} <= names


def test_a_partition_without_a_leader_gets_none_by_the_death_of_another_broker():
    paper = kraft(base().topic("ledger", 1, replicas=[[1, 2, 3]]))
    paper.parts[LEDGER].isr = (1,)
    paper.kill(1)
    settings = {node: {UNCLEAN: "true"} for node in (100, 101, 102)}
    snapshot = paper.snapshot(
        quorum=quorum(eligible={LEDGER: EligibleLeaders((1,), (1,))}, controller_settings=settings)
    )
    found = judged(snapshot, "broker=3").failures[0]
    assert (found.stopped, found.revived) == (1, 0)
