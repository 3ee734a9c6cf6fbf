"""A registration is removed once, and only of a broker that is gone and holds nothing."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.broker_unregister import BrokerUnregister
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.registrations import GHOST
from kfix.heal.model.answer import Verdict
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask

GONE = Args({"broker": GHOST, "dead_for": 120.0})


def broken(name: str = "ghost-registration") -> MemoryCluster:
    return INCIDENTS[name]().cluster


def guard(cluster: MemoryCluster, args: Args = GONE) -> Verdict:
    [call] = BrokerUnregister().guards(args)
    return ask(call, cluster).verdict


def test_the_registration_is_removed_and_proved_and_a_start_is_the_way_back() -> None:
    cluster = broken()
    frozen = BrokerUnregister().freeze(GONE, FactReader(cluster))
    assert guard(cluster) is Verdict.PASS
    assert BrokerUnregister().probe(frozen, {}, cluster) is ActionStatus.NOT_STARTED
    assert BrokerUnregister().apply(frozen, cluster).accepted
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in BrokerUnregister().proves(frozen))
    assert BrokerUnregister().probe(frozen, {}, cluster) is ActionStatus.DONE
    assert BrokerUnregister().apply(frozen, cluster).name == "BROKER_ID_NOT_REGISTERED"
    with pytest.raises(NotApplicable, match="is not registered"):
        BrokerUnregister().freeze(GONE, FactReader(cluster))
    assert not BrokerUnregister().inverse(frozen).reversible


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ghost-registration-with-replicas", "still holds replicas of 1 partition"),
        ("ghost-registration-voter", "is a voter"),
        ("ghost-registration-unreported", "do not report"),
        ("ghost-registration-hidden", "may hold replicas of topics that this client may not describe"),
    ],
)
def test_it_is_refused_at_plan_time_and_by_the_guard(name: str, why: str) -> None:
    cluster = broken(name)
    with pytest.raises(RefusedError, match=why):
        BrokerUnregister().freeze(GONE, FactReader(cluster))
    assert guard(cluster) is not Verdict.PASS


def test_a_live_broker_is_refused_although_kafka_would_unregister_it() -> None:
    args = GONE.with_(broker=1)
    with pytest.raises(RefusedError, match="is alive"):
        BrokerUnregister().freeze(args, FactReader(broken()))
    assert guard(broken(), args) is Verdict.FAIL


def test_one_that_may_be_restarting_or_that_answers_is_left_alone() -> None:
    assert guard(broken("ghost-registration-just-left")) is Verdict.FAIL
    assert guard(broken("ghost-registration-runs")) is Verdict.FAIL
    assert guard(broken("ghost-registration-forgotten")) is Verdict.PASS


def test_a_quorum_that_does_not_answer_shows_nothing_and_gets_nothing() -> None:
    cluster = broken()
    cluster.faults.unreadable["quorum"] = "no active controller answers"
    assert guard(cluster) is Verdict.INCONCLUSIVE
    assert BrokerUnregister().probe(GONE, {}, cluster) is ActionStatus.UNKNOWN
    assert BrokerUnregister().apply(GONE, cluster).name == "NOT_SENT"


def test_with_zookeeper_there_is_no_such_registration() -> None:
    cluster = MemoryCluster.healthy()
    assert guard(cluster) is Verdict.INCONCLUSIVE
    assert BrokerUnregister().apply(GONE, cluster).name == "NOT_SENT"
