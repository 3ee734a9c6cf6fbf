"""Every command that a run gives to paste names the cluster as the caller named it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.access import Access
from kfix.core.errors import ApprovalError, RefusedError, StoppedError
from kfix.core.timing import DiagnosisTimes
from kfix.heal.execution.restore import copying
from kfix.heal.gate.gates import Unattended
from kfix.heal.hints import plan_again
from kfix.heal.safety.outcomes import Outcome, RollBackWanted, Stop, to_error
from kfix.heal.session.session import for_plan
from tests.unit.heal.stage import Stage

AT = " -c orders-eu"
#: `history` reads the journals of this host and takes no cluster.
_COMMAND = re.compile(r"kfix runbook (?!history)[a-z]+ [^;:(]*?(?=   |;|\)|$)")


def commands(text: str) -> list[str]:
    return [found[0] for found in _COMMAND.finditer(text)]


def assert_named(text: str, count: int) -> None:
    found = commands(text)
    assert len(found) == count, found
    assert all(AT in command for command in found), found


def test_a_run_without_approval_names_the_cluster(stage: Stage) -> None:
    with pytest.raises(ApprovalError) as caught:
        stage.run(human=Unattended(), at=AT)
    assert f"apply --plan {stage.last_run.plan_path}{AT} --approve" in caught.value.hint


def test_an_expired_plan_is_made_again_for_the_same_cluster(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.clock.sleep(10 * 86_400)
    with pytest.raises(RefusedError) as caught:
        stage.run(plan, at=AT)
    assert f"kfix runbook plan coordinator-stuck{AT} --finding" in caught.value.hint
    assert "--bootstrap-server" not in caught.value.hint
    assert "--bootstrap-server" in plan_again(plan)


def test_how_to_go_on_after_a_change_names_the_cluster() -> None:
    stop = Stop(Outcome.STEP_FAILED, "it failed")
    error = to_error(
        stop,
        changed=("s1: x",),
        run="r1",
        resume=f"kfix runbook resume r1{AT}",
        rollback=f"kfix runbook rollback r1{AT}",
    )
    assert isinstance(error, StoppedError)
    assert_named(error.hint, 2)
    assert "kfix runbook history r1   shows" in error.hint
    wanted = to_error(Stop(Outcome.ROLL_BACK, "no"), changed=("s1: x",), run="r1", at=AT)
    assert isinstance(wanted, RollBackWanted)
    assert (wanted.run, wanted.hint) == ("r1", f"kfix runbook rollback r1{AT}")


def test_what_is_still_copied_names_the_cluster() -> None:
    assert_named(copying((), f"kfix runbook resume r1{AT}", throttled=True, run=f"r1{AT}"), 3)


def test_a_name_counts_more_than_client_properties_and_an_address_is_in_the_plan() -> None:
    assert Access("h:1").beside_the_address() == []
    assert Access("h:1", name="a b", besides=("--zookeeper", "z:1")).beside_the_address() == [
        "-c",
        "a b",
        "--zookeeper",
        "z:1",
    ]


def test_a_plan_is_made_again_with_its_own_addresses_and_the_client_properties(stage: Stage) -> None:
    made = stage.plan()
    plan = replace(made, cluster=replace(made.cluster, bootstrap="b:1", zookeeper="", controllers="c:1,c:2"))
    addresses = "--bootstrap-server b:1 --bootstrap-controller c:1,c:2"
    assert f"coordinator-stuck {addresses} --finding" in plan_again(plan)
    assert f"coordinator-stuck {addresses} --command-config my.p --finding" in plan_again(
        plan, " --command-config my.p"
    )
    assert "b:1" not in plan_again(plan, AT)
    # What reaches the cluster of a run again: the plan has it, unless the caller gives another.
    assert for_plan(Access(command_config=Path("my.p")), plan).controllers == "c:1,c:2"
    assert for_plan(Access(controllers="d:1"), plan).controllers == "d:1"


def test_a_plan_is_made_again_with_the_times_that_found_its_finding(stage: Stage) -> None:
    made = stage.plan()
    assert "grace" not in plan_again(made)
    again = plan_again(replace(made, judged=DiagnosisTimes(debounce=2, restart_grace=600, transaction_grace=0)), AT)
    assert again.endswith(f"--finding {made.finding.key} --debounce 2 --transaction-grace 0")
