"""A preferred replica that dies right before its election, on KRaft: Kafka 4.3.1 with a controller apart."""

from kfix.core.kafka import requests
from tests.cluster.seen import in_sync
from tests.cluster.test_dying_replicas import RECORDS, end_of, from_the_isr, states, words
from tests.waiting import wait_until


def test_a_preferred_replica_that_dies_right_before_its_election_is_not_led_by_another(operator, cluster):
    cluster.lab.break_("leader-skew")
    cluster.access.produce("ledger", {n: [("", b"kept")] * RECORDS for n in cluster.access.assignment("ledger")})
    planned = operator.plan("leader-balance")
    before = states(cluster)
    written = {tp: end_of(cluster, state.leader, tp) for tp, state in before.items()}
    first, *_ = planned.steps("leader.elect_preferred")
    dead = first["args"]["winner"]
    said = operator.dying(planned, dead, requests.ELECT_LEADERS)
    run = operator.ran(planned)
    from_the_isr(cluster, before)
    results = [(r["step"], r["code"], r["changed"]) for r in run.of("step.result")]
    assert results == [(first["id"], 80, False)]
    assert (said.code, run.end) == (3, "step_failed"), said.out + said.err
    assert "PREFERRED_LEADER_NOT_AVAILABLE" in words(said)
    assert "nothing was changed" in words(said)
    assert "the plan is stale; nothing was changed" in words(operator.resume(run, planned, code=3))
    assert operator.diagnose("--debounce", "0").findings["KFX401"]["object"] == f"broker {dead}"
    cluster.lab.restart(dead)
    wait_until(lambda: all(in_sync(cluster, tp) for tp in before), "all replicas are in sync", 30)
    operator.healed(operator.plan("leader-balance"))
    now = states(cluster)
    assert {tp: now[tp].leader for tp in now} == {
        tp: cluster.access.assignment(tp.topic)[tp.partition][0] for tp in now
    }
    assert {tp: end_of(cluster, state.leader, tp) for tp, state in now.items()} == written
