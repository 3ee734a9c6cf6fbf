"""What the model of `test_eligible_start` found, case by case: two partitions, and brokers that run and are fenced."""

from __future__ import annotations

from typing import Any

from kfix.core.diagnosis.finding import ChangeKind
from kfix.core.snapshot.snapshot import TopicPartition
from tests.proofs.diagnostics.leaderless_model import TPS, UNCLEAN, Brokers, Cluster, Partition
from tests.proofs.diagnostics.test_eligible_start import judged


def without_leader(number: int, brokers: Brokers, replicas: tuple[int, ...], **changes: Any) -> Partition:
    part = Partition(TPS[number], brokers, 2, replicas, keeps_eligible=bool(changes.get("elr")))
    part.leader, part.isr = -1, []
    for name, value in changes.items():
        setattr(part, name, value)
    return part


def test_partitions_that_wait_for_one_broker_and_were_led_by_different_ones_are_all_reported() -> None:
    brokers = Brokers(live={1, 2})
    parts = [
        without_leader(0, brokers, (3,), elr=[3], last_known=3),
        without_leader(1, brokers, (1, 3), elr=[3], last_known=1),
    ]
    found = [f for f in judged(Cluster(brokers, parts)).walk() if f.code == "KFX119"]
    assert [f.key for f in found] == [
        "KFX119:eligible [3], last known leader [3]",
        "KFX119:eligible [3], last known leader [1]",
    ]
    assert {tp for f in found for tp in f.partitions} == {*TPS}


def test_a_dead_replica_outside_the_isr_is_not_to_be_started_beside_a_fenced_one_inside() -> None:
    brokers = Brokers(live=set(), fenced={3})
    part = without_leader(0, brokers, (1, 3), isr=[3], unclean=True)
    [finding] = [f for f in judged(Cluster(brokers, [part])).walk() if f.code == "KFX104"]
    assert finding.remedies[0].command.endswith(f"{UNCLEAN}=false")
    assert finding.remedies[0].text.startswith("Before any broker is started or unfenced: set unclean")
    assert not any(ChangeKind.START in remedy.changes for remedy in finding.remedies)


def test_while_unclean_elections_are_allowed_an_eligible_broker_that_is_fenced_is_not_to_be_repaired_first() -> None:
    """Broker 1, which is fenced as well and lacks a record, would be elected if it came back first."""
    brokers = Brokers(live={3}, fenced={1, 2})
    part = without_leader(0, brokers, (1, 2), elr=[2], last_known=2, unclean=True)
    [finding] = [f for f in judged(Cluster(brokers, [part])).walk() if f.code == "KFX119"]
    assert finding.remedies[0].command.endswith(f"{UNCLEAN}=false")
    assert "broker 2, which runs, but is fenced" in finding.summary
    assert "a replica that lacks records may be elected first" in finding.summary


def test_an_unclean_election_waits_with_the_start_that_would_make_it_unnecessary() -> None:
    """The start of broker 2 would elect it for payments-0, which lacks it in its ISR and allows unclean elections."""
    brokers = Brokers(live={1})
    parts = [
        without_leader(0, brokers, (1, 2), isr=[2]),
        without_leader(1, brokers, (1, 2, 3), isr=[3], unclean=True),
    ]
    [finding] = [f for f in judged(Cluster(brokers, parts)).walk() if f.code == "KFX103" and TPS[0] in f.partitions]
    waiting = [r for r in finding.remedies if {ChangeKind.START, ChangeKind.UNCLEAN_ELECTION} & set(r.changes)]
    assert {kind for r in waiting for kind in r.changes} > {ChangeKind.START, ChangeKind.UNCLEAN_ELECTION}
    assert {(r.after, r.command) for r in waiting} == {("KFX103:ISR on broker 3, unclean elections on", "")}


def test_two_partitions_without_a_live_replica_that_need_each_other_s_broker_wait_for_the_setting() -> None:
    brokers = Brokers(live=set())
    parts = [
        without_leader(0, brokers, (1, 3), isr=[1], unclean=True),
        without_leader(1, brokers, (3, 1), isr=[3], unclean=True),
    ]
    [finding] = [f for f in judged(Cluster(brokers, parts)).walk() if f.code == "KFX104"]
    assert [r.command.endswith(f"{UNCLEAN}=false") for r in finding.remedies[:3]] == [True, True, False]
    assert (finding.remedies[2].brokers, finding.remedies[2].command) == ((1, 3), "")


def test_where_not_every_setting_is_shown_no_broker_is_to_be_started_yet() -> None:
    brokers = Brokers(live=set())
    parts = [
        without_leader(0, brokers, (1, 3), tp=TopicPartition(f"t{number}", 0), isr=[isr], unclean=True)
        for number, isr in enumerate((1, 3, 1, 3))
    ]
    [finding] = [f for f in judged(Cluster(brokers, parts)).walk() if f.code == "KFX104"]
    assert [r.command.endswith(f"{UNCLEAN}=false") for r in finding.remedies] == [True, True, True, False]
    assert not any(ChangeKind.START in remedy.changes for remedy in finding.remedies)


def test_a_fenced_replica_outside_the_isr_is_not_expected_to_lead_once_it_is_repaired() -> None:
    brokers = Brokers(live=set(), fenced={3})
    part = without_leader(0, brokers, (1, 3), isr=[1])
    [finding] = [f for f in judged(Cluster(brokers, [part])).walk() if f.code == "KFX104"]
    assert finding.remedies[0].brokers == (1,)
    assert ChangeKind.START in finding.remedies[0].changes
    assert not any("leads again" in remedy.text for remedy in finding.remedies)


def test_a_fenced_broker_is_not_to_be_repaired_while_its_registration_elects_another_replica() -> None:
    """Neither for the partition that it would lead without a loss, nor for itself."""
    brokers = Brokers(live={1}, fenced={2})
    parts = [
        without_leader(0, brokers, (1, 2), isr=[2]),
        without_leader(1, brokers, (1, 3), isr=[3], unclean=True),
    ]
    diagnosis = judged(Cluster(brokers, parts))
    found = [(f, r) for f in diagnosis.walk() for r in f.remedies if ChangeKind.REGISTRATION in r.changes]
    assert found
    assert {r.after for _, r in found} == {"KFX103:ISR on broker 3, unclean elections on"}
    [fenced] = [f for f in diagnosis.walk() if f.code == "KFX814"]
    assert fenced.remedies[0].text == (
        f"Before the heartbeats are repaired: set {UNCLEAN}=false on topic payments. Otherwise its registration may "
        "elect a replica that lacks records"
    )
