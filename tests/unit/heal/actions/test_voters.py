"""A voter is removed only if it is dead and replaced, and a controller is added only if it follows."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.heal.actions.base import Action, ActionStatus, NotApplicable
from kfix.heal.actions.voters import VoterAdd, VoterRemove
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.answer import Verdict
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask

NODE = Args({"node": 102})


def broken(name: str = "voter-wrong-directory") -> MemoryCluster:
    return INCIDENTS[name]().cluster


def carried_out(action: Action, args: Args, cluster: MemoryCluster) -> None:
    [guard] = action.guards(args)
    assert ask(guard, cluster).verdict is Verdict.PASS
    assert action.probe(args, {}, cluster) is ActionStatus.NOT_STARTED
    assert action.apply(args, cluster).accepted
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in action.proves(args))
    assert action.probe(args, {}, cluster) is ActionStatus.DONE
    assert ask(guard, cluster).verdict is Verdict.FAIL, "it is not done twice"


def test_a_voter_is_removed_and_its_controller_added_with_the_disk_that_it_has() -> None:
    """Both are planned together: at that time the voter is still there."""
    cluster = broken()
    removing, adding = (each.freeze(NODE, FactReader(cluster)) for each in (VoterRemove(), VoterAdd()))
    assert removing == Args({"node": 102, "directory": "disk-102", "by": "new-disk"})
    assert adding == Args({"node": 102, "by": "new-disk", "address": "CONTROLLER://controller102.example:9093"})
    [guard] = VoterAdd().guards(adding)
    assert ask(guard, cluster).verdict is Verdict.FAIL, "the voter has to be removed first"
    carried_out(VoterRemove(), removing, cluster)
    carried_out(VoterAdd(), adding, cluster)
    assert cluster.quorum.voters == {100: "disk-100", 101: "disk-101", 102: "new-disk"}
    assert VoterRemove().apply(removing, cluster).name == "VOTER_NOT_FOUND"
    assert VoterAdd().apply(adding, cluster).name == "DUPLICATE_VOTER"


@pytest.mark.parametrize("action", [VoterRemove(), VoterAdd()])
def test_where_nothing_has_to_be_changed_no_step_is_planned(action: Action) -> None:
    node = 109 if action.name == "voter.remove" else 101
    with pytest.raises(NotApplicable, match="is no voter" if node == 109 else "is a voter"):
        action.freeze(Args({"node": node}), FactReader(broken()))


def test_a_controller_that_is_not_there_is_not_added() -> None:
    cluster = broken("voter-wrong-directory-removed")
    with pytest.raises(RefusedError, match="controller 109 does not follow as an observer"):
        VoterAdd().freeze(Args({"node": 109}), FactReader(cluster))


@pytest.mark.parametrize("action", [VoterRemove(), VoterAdd()])
def test_a_quorum_that_does_not_answer_shows_nothing_and_gets_nothing(action: Action) -> None:
    cluster = broken()
    args = action.freeze(NODE, FactReader(cluster))
    cluster.faults.unreadable["quorum"] = "no active controller answers"
    [guard] = action.guards(args)
    assert ask(guard, cluster).verdict is Verdict.INCONCLUSIVE
    assert action.probe(args, {}, cluster) is ActionStatus.UNKNOWN
    assert action.apply(args, cluster).name == "NOT_SENT"
    assert not action.inverse(args).reversible


@pytest.mark.parametrize("action", [VoterRemove(), VoterAdd()])
def test_with_zookeeper_there_are_no_voters(action: Action) -> None:
    args = action.freeze(NODE, FactReader(broken()))
    [guard] = action.guards(args)
    cluster = MemoryCluster.healthy()
    assert ask(guard, cluster).verdict is Verdict.INCONCLUSIVE
    assert action.apply(args, cluster).name == "NOT_SENT"
