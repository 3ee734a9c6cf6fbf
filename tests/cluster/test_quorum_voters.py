"""Single voters of a quorum that may change: replaced and added by runbooks on real controllers, or refused."""

import time
from dataclasses import replace

from kfix.lab import LabSpec
from kfix.lab.clients.asking_controllers import remove_voter
from kfix.lab.nodes.failures import start_on_new_disk
from tests import shipped
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.waiting import wait_until

UNREACHABLE = 22


def start(version):
    spec = LabSpec(name="voters", kafka=version, mode="kraft", controllers=3)
    return WatchedLab.up(replace(spec, dynamic_quorum=True))


own, lab = lab_of_its_own(start, params=["3.9.2", "4.3.1", "4.4.0"])


def becomes_an_observer(lab, number):
    """Removes a voter that is alive, as Kafka allows."""
    seen = lab.quorum.members()
    [directory] = (each.directory for each in seen.voters if each.node == number)
    remove_voter(str(dict(seen.nodes)[seen.leader]), (number, directory), lab.quorum._security())
    wait_until(lambda: number not in lab.quorum.voters(), f"{number} is no voter", 20)


def waits_for_an_observer(operator, runbook, number):
    """An observer has caught up a moment after its start."""
    return wait_until(
        lambda: operator.planning(runbook, params={"node": number})[0].code == 0, f"{number} has caught up", 60
    )


def test_a_voter_is_replaced_after_its_disk_was_lost_and_refused_before_and_without_a_majority(lab, operator):
    """One person starts the controller; kfix removes the voter with the lost disk, and adds the one with the new."""
    number = int(lab.break_("controller-disk-lost").details["killed"])
    node = {"node": number}
    operator.until(lambda said: f"quorum-replace-voter -p node={number} " in said.out, "it is found", "--debounce", "0")
    assert "does not follow as an observer" in operator.not_planned("quorum-replace-voter", params=node)
    start_on_new_disk(lab, number)
    waits_for_an_observer(operator, "quorum-replace-voter", number)
    planned = operator.plan("quorum-replace-voter", params=node)
    assert planned.gates == {"remove": "step", "add": "step", "wait": "auto", "add-again": "step"}

    # Two of three voters are dead: what is planned is not sent, and nothing is planned.
    other = next(each for each in lab.quorum.voters() if each not in (number, lab.quorum.active().leader))
    voters = lab.quorum.voters()
    lab.kill(other, "controller")
    wait_until(lambda: lab.quorum.active() is None, "none is active", 30)
    said = operator.not_planned("quorum-replace-voter", params=node, code=UNREACHABLE)
    assert "no active controller answers" in said
    said = operator.on("runbook", "apply", "--plan", planned.path, *planned.answers("step", typed=True))
    assert said.code != 0, said.out
    assert lab.quorum.active() is None
    lab.restart(other, role="controller")
    wait_until(lab.quorum.active, "one is active", 30)
    assert lab.quorum.voters() == voters

    waits_for_an_observer(operator, "quorum-replace-voter", number)
    operator.healed(operator.plan("quorum-replace-voter", params=node))
    assert lab.quorum.voters() == voters | {number: lab.quorum.directory_of(number)}
    said, path = operator.planning("quorum-replace-voter", params=node)
    assert (said.code, path.exists()) == (0, False)


def test_one_voter_becomes_three_and_a_dead_one_that_is_needed_refuses_the_next(lab, operator):
    active = lab.quorum.active().leader
    first, second = sorted(lab.quorum.voters().keys() - {active})
    for number in (first, second):
        becomes_an_observer(lab, number)
    voters = lab.quorum.voters()
    assert list(voters) == [active]
    found = operator.until(lambda said: "KFX812" in said.findings, "it is found", "--debounce", "0").findings["KFX812"]
    assert "1 voter" in found["summary"]
    commands = [remedy["command"] for remedy in found["remedies"]]
    assert all(f"quorum-add-voter -p node={n} " in each for n, each in zip((first, second), commands, strict=True))

    lab.kill(second, "controller")
    assert "as an observer" in operator.not_planned("quorum-add-voter", params={"node": second})
    lab.nodes.start(lab.state, "controller", lab.state.controller(second))
    cooldown = shipped.runbook("quorum-add-voter").limits.cooldown
    for number in (first, second):
        time.sleep(cooldown if number == second else 0)
        waits_for_an_observer(operator, "quorum-add-voter", number)
        operator.healed(operator.plan("quorum-add-voter", params={"node": number}))
        assert lab.quorum.voters()[number] == lab.quorum.directory_of(number)
    assert len(lab.quorum.voters()) == 3
    assert "KFX812" not in operator.diagnose("--debounce", "0").findings
