"""An in-sync replica that dies right before a clean election: nobody outside the ISR leads, and no record is lost."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka import requests
from tests.cluster.seen import in_sync
from tests.waiting import wait_until

RECORDS = 5


def led_by(cluster, broker):
    """Makes this broker the controller, so that none of the others takes it along when it dies."""
    while cluster.access.controller() != broker:
        cluster.access.drop_controller()
        wait_until(lambda: cluster.access.controller() is not None, "a controller is elected")


def states(cluster):
    return {tp: state for tp, state in cluster.access.states().items() if state is not None}


def end_of(cluster, broker, where):
    return cluster.end(broker, where).offset


def from_the_isr(cluster, before):
    """No replica leads that was not in sync `before`."""
    for tp, state in states(cluster).items():
        assert state.leader == -1 or state.leader in before[tp].isr, (tp, before[tp], state)


def words(said):
    return " ".join((said.out + said.err).split())


def test_a_preferred_replica_that_dies_right_before_its_election_is_not_led_by_another(operator, cluster):
    dies_before_its_election(operator, cluster)


def dies_before_its_election(operator, cluster):
    """The controller, of ZooKeeper or of KRaft, elects nobody else, and the run ends at its canary."""
    leader = cluster.lab.break_("leader-skew").details["leader"]
    if cluster.access.znodes is not None:
        led_by(cluster, leader)
    cluster.access.produce("ledger", {n: [("", b"kept")] * RECORDS for n in cluster.access.assignment("ledger")})
    planned = operator.plan("leader-balance")
    before = states(cluster)
    written = {tp: end_of(cluster, state.leader, tp) for tp, state in before.items()}
    first, *_ = planned.steps("leader.elect_preferred")
    dead = first["args"]["winner"]
    said = operator.dying(planned, dead, requests.ELECT_LEADERS)
    run = operator.ran(planned)
    from_the_isr(cluster, before)
    assert {state.leader for tp, state in states(cluster).items() if dead in before[tp].isr} == {leader}
    # The first election is a canary: the run ends before the second one.
    results = [(r["step"], r["code"], r["changed"]) for r in run.of("step.result")]
    assert results == [(first["id"], 80, False)]
    assert (said.code, run.end) == (3, "step_failed"), said.out + said.err
    assert "PREFERRED_LEADER_NOT_AVAILABLE" in words(said)
    assert "nothing was changed" in words(said)
    stale = operator.resume(run, planned, code=3)
    assert "the plan is stale; nothing was changed" in words(stale)
    assert operator.diagnose("--debounce", "0").findings["KFX401"]["object"] == f"broker {dead}"
    cluster.lab.restart(dead)
    wait_until(lambda: all(in_sync(cluster, tp) for tp in before), "all replicas are in sync", 30)
    operator.healed(operator.plan("leader-balance"))
    now = states(cluster)
    assert {tp: now[tp].leader for tp in now} == {
        tp: cluster.access.assignment(tp.topic)[tp.partition][0] for tp in now
    }
    assert {tp: end_of(cluster, state.leader, tp) for tp, state in now.items()} == written


@pytest.mark.parametrize("controls", [False, True], ids=["another-broker", "the-controller"])
def test_the_last_in_sync_replica_that_dies_right_before_the_nudge_is_waited_for(operator, cluster, controls):
    """The replica that is alive holds the log of a deposed leader; it must not lead, whatever the controller reads."""
    if OFFSETS_TOPIC not in cluster.access.topics():
        cluster.lab.break_("healthy")
        cluster.lab.mend()
    controller = cluster.access.controller()
    led = {tp: state.leader for tp, state in states(cluster).items() if tp.topic == OFFSETS_TOPIC}
    # The incident spares the controller: where that leads, it is outside the ISR then, and else the last one in it.
    number = next(tp.partition for tp, leader in led.items() if (leader == controller) is not controls)
    broken = cluster.lab.break_("coordinator-stuck", partition=number)
    [where] = broken.partitions
    before = states(cluster)
    [last] = before[where].isr
    assert (cluster.access.controller() == last) is controls
    written = end_of(cluster, last, where)
    planned = operator.plan("coordinator-stuck")
    assert planned.ids == ["nudge", "reelect-controller"]
    said = operator.dying(planned, last, requests.ALTER_REASSIGNMENTS)
    run = operator.ran(planned)
    from_the_isr(cluster, before)
    assert cluster.access.state(*where).leader == -1
    assert [r["step"] for r in run.of("step.intent")] == ["nudge"]
    assert (said.code, run.end) == (6, "refused"), said.out + said.err
    assert run.of("step.result")[0]["changed"] is (None if controls else True)
    assert f"step reelect-controller needs partition_has_live_isr(partition={where})" in words(said)
    assert "HEALED" not in words(said)
    found = operator.diagnose("--debounce", "0").findings["KFX103"]
    assert f"Start broker {last}. It is in sync, so no data is lost" in found["remedies"][0]["text"]
    # The dead controller closed the connection: whether it made the change is unknown, and it is not sent again.
    unmoved = "will not be sent again" if controls else "needs partition_has_live_isr"
    assert unmoved in words(operator.resume(run, planned, code=6))
    cluster.lab.restart(last)
    assert "PROVED" in words(operator.resume(run, planned))
    assert [r["step"] for r in run.of("step.intent")] == ["nudge"]
    wait_until(lambda: cluster.works(broken.group), "the group works again", 30)
    assert cluster.access.state(*where).leader == last
    assert end_of(cluster, last, where) >= written
