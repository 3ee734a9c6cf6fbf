"""A member is removed only where it holds the rebalance, and only as it was planned."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.faults import Call
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.groups import GROUP, member
from kfix.heal.model.plan import Gate
from kfix.heal.probes.registry import ask
from tests.unit.heal.actions.acting import carry_out, freeze, guards_pass, progress, proved

NAME = "group.evict"


def held(name: str = "rebalance-held") -> MemoryCluster:
    return INCIDENTS[name]().cluster


def planned(cluster: MemoryCluster, who: str = "slow-1") -> Args:
    return freeze(NAME, cluster, group=GROUP, member=who)


def test_the_others_settle_once_the_member_that_holds_the_rebalance_is_removed() -> None:
    cluster = held()
    args = planned(cluster)
    assert carry_out(NAME, args, cluster).accepted
    assert proved(NAME, args, cluster)
    assert cluster.group_members(GROUP).state == "Stable"
    assert cluster.faults.calls == [Call("evict_member", (GROUP, "slow-1", ""))]


def test_a_static_member_is_removed_by_its_instance_id_and_its_member_id() -> None:
    cluster = held("rebalance-held-by-a-static-member")
    carry_out(NAME, planned(cluster), cluster)
    assert cluster.faults.calls == [Call("evict_member", (GROUP, "slow-1", "worker-7"))]


def test_the_process_that_took_the_place_of_a_static_member_stays() -> None:
    cluster = held("rebalance-held-by-a-static-member")
    args = planned(cluster)
    joined = cluster.joined[GROUP]
    del joined.members["slow-1"]
    joined.members["slow-2"] = member("slow-2", "worker-7")
    assert not guards_pass(NAME, args, cluster)
    assert ACTIONS[NAME].apply(args, cluster).name == "FENCED_INSTANCE_ID"
    assert "slow-2" in joined.members


def test_a_group_that_does_not_rebalance_has_nothing_to_remove() -> None:
    cluster = held()
    args = planned(cluster)
    cluster.joined[GROUP].join_again("slow-1")
    assert not guards_pass(NAME, args, cluster)
    with pytest.raises(NotApplicable, match="does not rebalance, it is Stable"):
        planned(cluster)


def test_a_member_that_is_gone_is_not_removed() -> None:
    cluster = held()
    args = planned(cluster)
    assert cluster.evict_member(GROUP, "slow-1", "").accepted
    cluster.joined[GROUP].rebalance(member("new-2"))
    assert not guards_pass(NAME, args, cluster)
    assert ACTIONS[NAME].apply(args, cluster).name == "UNKNOWN_MEMBER_ID"
    with pytest.raises(NotApplicable, match="has no member slow-1"):
        planned(cluster)


def test_a_member_that_has_joined_since_does_not_hold_the_rebalance() -> None:
    with pytest.raises(RefusedError, match="new-1 has joined since, so another member holds the rebalance"):
        planned(held(), "new-1")


def test_of_several_members_that_may_hold_the_rebalance_the_step_names_each() -> None:
    cluster = held()
    assert "the only member that may hold its rebalance" in ACTIONS[NAME].preview(planned(cluster)).what
    cluster.joined[GROUP].last = frozenset()
    args = planned(cluster)
    assert "one of 2 members that may hold its rebalance" in ACTIONS[NAME].preview(args).what
    assert ACTIONS[NAME].gate_for(args) is Gate.STEP


def test_a_lost_answer_is_read_from_the_group() -> None:
    cluster = held()
    args = planned(cluster)
    far = progress(NAME, args, cluster)
    cluster.faults.lose_answer("evict_member", applied=True)
    assert carry_out(NAME, args, cluster).unknown
    assert far() is ActionStatus.DONE
    cluster.faults.unreadable["group"] = "gone"
    assert far() is ActionStatus.UNKNOWN


def test_the_way_by_hand_names_the_process_and_for_a_static_member_the_java_client() -> None:
    assert "stop the process of client slow on 10.0.0.7" in ACTIONS[NAME].preview(planned(held())).command
    static = held("rebalance-held-by-a-static-member")
    assert 'MemberToRemove("worker-7")' in ACTIONS[NAME].preview(planned(static)).command


def test_what_another_member_holds_is_named_by_the_guard() -> None:
    cluster = held()
    [guard] = ACTIONS[NAME].guards(planned(cluster))
    cluster.joined[GROUP].last = frozenset({"new-1"})
    answer = ask(guard, cluster)
    assert not answer.passed
    assert "slow-1 has joined since; the only member that may hold it is new-1" in answer.observed
