"""A member that holds the rebalance of its group is removed on real brokers, and the others get their records."""

import json
import shlex
import threading
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from kfix.core.kafka import group_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from tests.waiting import wait_until


@contextmanager
def consuming(lab, group):
    """The partitions of a consumer of the group that polls all the time, newest last, and its records."""
    settings = {"bootstrap.servers": lab.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "session.timeout.ms": 6000})
    seen, over = [], threading.Event()

    def poll():
        while not over.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                seen.append((message.topic(), message.partition(), message.offset()))

    consumer.subscribe(["orders"])
    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        consumer.close()


def described(cluster, broken):
    """State and member ids of the group, by its coordinator."""
    asked = group_messages.describe_members(broken.group)
    found = cluster.ask(broken.details["coordinator"], asked)
    return found.state, {member.id for member in found.members}


def leave(cluster, broken, member, instance=""):
    host, _, port = cluster.lab.address(broken.details["coordinator"]).rpartition(":")
    allowed = {group_messages.LEAVE_GROUP}
    with BrokerConnection(Endpoint(host, int(port)), Security(), allowed=allowed) as line:
        asked = group_messages.leave_group(broken.group, member, instance)
        return line.call(asked, Deadline.after(5))


def as_printed(operator, broken):
    """The words of the command that the finding of the group prints."""
    story = operator.on("diagnose", "--json", "--debounce", "1", "--group", broken.group).json
    [found] = [f for f in story["findings"] if f["code"] == "KFX111"]
    commands = [r["command"] for r in found["remedies"] if r["runbook"] == "evict-member"]
    [rung] = [r for r in story["rungs"] if r["name"] == "rebalance"]
    assert commands == [r["command"] for r in rung["next_steps"] if r["runbook"] == "evict-member"]
    [command] = commands
    return shlex.split(command)[1:]


@pytest.mark.parametrize("instance", ["", "worker-7"], ids=["dynamic", "static"])
def test_a_member_that_holds_a_rebalance_is_removed_and_the_others_get_records(operator, cluster, instance):
    broken = cluster.lab.break_("rebalance-held", **({"instance": instance} if instance else {}))
    held, params = broken.details["member"], {"group": broken.group, "member": broken.details["member"]}
    _, before = described(cluster, broken)
    [new] = before - {held}
    with consuming(cluster.lab, broken.group) as records:
        wait_until(lambda: len(described(cluster, broken)[1]) == 3, "the consumer waits in the group", 20)
        command = as_printed(operator, broken)
        assert f"member={held}" in command

        # Without a terminal no one approves it; who does not hold the rebalance is not removed in any case.
        said = operator.run(*command)
        assert said.code == 4, said.out + said.err
        said = operator.not_planned("evict-member", params={**params, "member": new})
        assert f"{new} has joined since; the only member that may hold it is {held}" in said
        assert "has no member gone-1" in operator.not_planned("evict-member", params={**params, "member": "gone-1"})
        assert "group nosuch is Dead" in operator.not_planned("evict-member", params={**params, "group": "nosuch"})
        state, members = described(cluster, broken)
        assert (state, len(members), held in members) == ("PreparingRebalance", 3, True)
        assert records == []

        planned = operator.plan("evict-member", params=params)
        assert planned.gates == {"let-it-join": "auto", "evict": "step"}
        [step] = planned.steps("group.evict")
        assert (step["args"]["instance"], step["args"]["awaited"]) == (instance, 1)
        operator.healed(planned)
        assert operator.ran(planned).end == "proved"
        assert held not in described(cluster, broken)[1]

        def settled():
            state, members = described(cluster, broken)
            return state == "Stable" and len(members) == 1 and not members & before

        wait_until(settled, "the consumer alone is in the group", 20)
        wait_until(lambda: records, "the consumer gets records", 20)
        story = operator.on("diagnose", "--json", "--debounce", "1", "--group", broken.group)
        assert "KFX111" not in {finding["code"] for finding in story.json["findings"]}
        assert operator.on("runbook", "verify", operator.ran(planned).id).code == 0

        # The group is Stable: there is nothing to remove any more, and nothing to take back.
        said, path = operator.planning("evict-member", params=params)
        assert (said.code, path.exists()) == (0, False)
        assert f"group {broken.group} is Stable" in said.out
        assert operator.on(
            "runbook", "rollback", operator.ran(planned).id, "--output-file", operator.folder / "undo.json"
        ).code


def test_a_member_that_joins_again_in_time_is_not_removed(operator, cluster):
    broken = cluster.lab.break_("rebalance-held")
    held = broken.details["member"]
    planned = operator.plan("evict-member", params={"group": broken.group, "member": held, "settle": "30s"})
    going = operator.begin(planned)
    run = operator.ran(planned)
    wait_until(lambda: run.waits_for("let-it-join"), "the run waits for the member")
    # Its process is stopped by hand, and leaves the group.
    assert leave(cluster, broken, held).error == 0
    said = going.over()
    assert said.code == 0, said.out + said.err
    assert [r for r in run.records if r["type"] == "step.intent" and r["step"] == "evict"] == []
    assert json.loads((run.path / "plan.json").read_text())["plan_id"] == planned.plan["plan_id"]


def test_a_coordinator_removes_a_static_member_only_under_the_id_that_it_has_now(cluster):
    broken = cluster.lab.break_("rebalance-held", instance="worker-7")
    before = described(cluster, broken)
    assert leave(cluster, broken, "worker-7-other", "worker-7").error == 82
    assert leave(cluster, broken, "gone-1", "worker-8").error == 25
    assert leave(cluster, broken, "gone-1").error == 25
    assert described(cluster, broken) == before
    assert leave(cluster, broken, broken.details["member"], "worker-7").error == 0
    assert broken.details["member"] not in described(cluster, broken)[1]
