"""Where Kafka itself would elect a replica that lacks records, that is forbidden before anything is started."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.finding import ChangeKind, Diagnosis, Finding, Remedy
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix_diagnostics._bans import no_start
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.leadership._unclean import nothing_registers, unclean_runbook
from tests.unit.diagnostics import unclean_clusters
from tests.unit.diagnostics.test_incidents import find

SET_FALSE = "--entity-type topics --entity-name orders --add-config unclean.leader.election.enable=false"


def starts(found: Diagnosis) -> list[tuple[Finding, Remedy]]:
    return [(f, r) for f in found.walk() for r in f.remedies if ChangeKind.START in r.changes]


def test_the_setting_comes_first_and_then_the_start_of_the_in_sync_replica():
    finding = find(diagnose(unclean_clusters.in_sync_dead()), "KFX103")
    first, then = finding.remedies[:2]
    assert first.text.startswith("At once, since Kafka elects broker 2 within 5 minutes otherwise: set unclean")
    assert first.command.endswith(SET_FALSE)
    assert (then.runbook, then.brokers, then.after) == ("isr-dead", (1,), "")
    assert finding.never[0].startswith("Do not start or restart any broker other than broker 1 while unclean")
    assert "broker 2 may be elected at any time, and may lack records" in finding.summary


def test_no_other_broker_is_to_be_started_or_restarted_before():
    found = diagnose(unclean_clusters.in_sync_dead())
    trap = find(found, "KFX103")
    others = [remedy for finding, remedy in starts(found) if finding is not trap]
    assert others
    assert all(remedy.after == trap.key and not remedy.command for remedy in others if 3 in remedy.brokers)


def test_two_partitions_that_need_each_other_s_broker_wait_for_the_setting_alone():
    found = diagnose(unclean_clusters.each_in_sync_elsewhere())
    traps = [f for f in found.walk() if f.code == "KFX103"]
    assert len(traps) == 2
    for trap in traps:
        assert (trap.remedies[0].after, trap.remedies[0].command[-len(SET_FALSE) :]) == ("", SET_FALSE)
    assert all(remedy.after for _, remedy in starts(found))


@pytest.mark.parametrize("on_kraft", [True, False])
def test_with_every_replica_dead_the_first_to_start_would_lead(on_kraft):
    found = diagnose(unclean_clusters.without_leader((1,), dead=(1, 2, 3), on_kraft=on_kraft))
    finding = find(found, "KFX104")
    assert finding.remedies[0].text.startswith("Before any broker is started: set unclean.leader.election.enable=false")
    assert "Start broker 1" in finding.remedies[1].text
    assert finding.never[0].startswith(
        "Do not start brokers 2, 3 while unclean.leader.election.enable is true on topic"
    )


def test_nothing_is_to_be_set_where_whoever_starts_has_every_record():
    finding = find(diagnose(unclean_clusters.without_leader((1, 2, 3), dead=(1, 2, 3))), "KFX104")
    assert not any(SET_FALSE in remedy.command for remedy in finding.remedies)


@pytest.mark.parametrize("also_dead", [(), (1,)])
def test_a_broker_that_may_lead_and_is_fenced_is_not_restarted_before_the_setting(also_dead):
    """Its registration alone makes Kafka elect the live replica first."""
    found = diagnose(unclean_clusters.eligible_runs_fenced(also_dead=also_dead))
    trap = find(found, "KFX119")
    first = trap.remedies[0]
    assert first.text.startswith(
        "At once, before broker 2 is unfenced: set unclean.leader.election.enable=false on topic"
    )
    assert first.command.endswith(SET_FALSE)
    assert "once it registers again, broker 3 may be elected first, and it may lack records" in trap.summary
    fenced = find(found, "KFX814").remedies[0]
    assert fenced.text.startswith("Before the heartbeats are repaired: set unclean.leader.election.enable=false")
    assert fenced.command.endswith(SET_FALSE)
    restarts = [
        r
        for f in found.walk()
        for r in f.remedies
        if ChangeKind.RESTART in r.changes and (not r.brokers or 2 in r.brokers)
    ]
    assert restarts
    assert all(r.after == trap.key and not r.command for r in restarts)
    assert all(r.after for f, r in starts(found))


def test_where_they_are_not_allowed_its_restart_waits_for_nothing():
    found = diagnose(unclean_clusters.eligible_runs_fenced(allowed=False))
    assert "unclean" not in find(found, "KFX119").obj
    assert [r.after for r in find(found, "KFX814").remedies if ChangeKind.RESTART in r.changes] == [""]


@pytest.mark.parametrize(("code", "dead"), [("KFX103", (1,)), ("KFX104", (1, 2, 3))])
def test_where_no_replica_is_eligible_the_dead_ones_are_started_before_an_unclean_election(code, dead):
    nobody = EligibleLeaders((), ())
    finding = find(diagnose(unclean_clusters.unread(*dead, eligible=nobody)), code)
    assert finding.remedies[0].brokers == dead
    assert [r.runbook for r in finding.remedies if r.runbook] == (["unclean-election"] if code == "KFX103" else [])
    allowed = diagnose(unclean_clusters.unread(*dead, eligible=nobody, unclean=True))
    assert find(allowed, code).remedies[0].command.endswith(SET_FALSE)
    assert all(remedy.after for _, remedy in starts(allowed))


def test_the_brokers_that_hold_all_records_may_be_started_and_no_others() -> None:
    case = open_case(unclean_clusters.in_sync_dead())
    assert next(nothing_registers(case, (1,))) == no_start({3})
    assert next(nothing_registers(case)) == no_start({1, 3})
    assert len([*nothing_registers(case, (1, 3))]) == 1


@pytest.mark.parametrize("partitions", [1, 2])
def test_the_last_resort_has_no_command_while_a_partition_is_being_moved(partitions) -> None:
    snapshot = unclean_clusters.without_leader(*[(1,)] * partitions, dead=(1, 3))
    tps = [TopicPartition("orders", number) for number in range(partitions)]
    moves = {tps[-1]: Assignment((2, 3, 1, 4), (4,), ())}
    still, moved = (
        unclean_runbook(tps, open_case(replace(snapshot, reassignments=each)), "If ever", "elect")
        for each in ({}, moves)
    )
    assert (still.runbook, moved.runbook) == ("unclean-election", "")
    assert "runbook refuses it while the reassignment" in moved.text
    assert moved.command == ""
    assert moved.changes == still.changes
