"""Proof: what only looks cannot write. Every way of looking runs with a changer that raises at any call."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kfix.core.ports import ClusterChanger
from kfix.heal.execution.run import prove_again
from kfix.heal.journal.runs import summaries
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.plan.planfile import from_json, to_json
from kfix.heal.plan.steps import explain
from kfix.heal.report.history import print_records
from kfix.heal.report.plan import print_plan
from kfix.heal.rollback import make_rollback
from kfix.shell.app import app
from kfix_diagnostics.engine import diagnose
from tests.proofs.scenarios import SCENARIOS, Scenario
from tests.proofs.stage import Stage
from tests.unit.heal.fake_wiring import FakeWiring

CHANGES = [name for name in vars(ClusterChanger) if not name.startswith("_")]


class CalledError(AssertionError):
    """Somebody who was only to look has changed something."""


def forbid(cluster: MemoryCluster) -> None:
    def raises(*args: Any, **_more: Any) -> Any:
        raise CalledError(args)

    assert CHANGES
    for name in CHANGES:
        setattr(cluster, name, raises)


def test_the_port_of_changes_is_what_is_forbidden_here() -> None:
    assert set(CHANGES) == {
        "elect",
        "reassign",
        "reelect_controller",
        "alter_configs",
        "commit_offsets",
        "evict_member",
        "abort_transaction",
        "end_transaction",
        "unregister_broker",
        "delete_key",
        "raise_metadata_version",
        "write_metadata_log",
        "remove_voter",
        "add_voter",
        "restart_node",
    }


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=str)
def test_looking_sends_no_change(scenario: Scenario, home: Path) -> None:
    stage = Stage(scenario, home)
    stage.run(stage.plan())
    done = list(stage.calls)

    fresh = Stage(scenario, home.parent / "fresh")
    for one in (stage, fresh):
        forbid(one.cluster)
    plan = from_json(to_json(fresh.plan()), "plan")
    assert len(list(explain(plan))) == len(plan.steps)
    assert list(summaries(stage.store))
    diagnose(fresh.cluster.snapshot())
    run = stage.last_run
    prove_again(run.plan(), stage.cluster, stage.cluster.clock)
    try:
        make_rollback(run, stage.cluster, stage.created(), everything=True)
    except Exception as error:  # noqa: BLE001 - any refusal is right, a call is not
        assert not isinstance(error, CalledError)
    assert (stage.calls, fresh.calls) == (done, [])


def test_printing_needs_no_cluster_at_all(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kfix.front.console import console_on

    stage = Stage(SCENARIOS["raise-topic-rf"], home)
    plan = stage.plan()
    stage.run(plan)
    forbid(stage.cluster)
    import sys

    print_plan(plan, explain(plan), console_on(sys.stdout))
    print_records(stage.last_run.journal().records, console_on(sys.stdout))
    assert plan.short_id in capsys.readouterr().out


LOOKS = [
    ["runbook", "plan", "coordinator-stuck"],
    ["runbook", "plan", "coordinator-stuck", "--output-file", "PLAN"],
    ["runbook", "plan", "coordinator-stuck", "--json"],
    ["runbook", "plan", "coordinator-stuck", "--exit-code"],
    ["runbook", "apply", "coordinator-stuck"],
    ["runbook", "apply", "--plan", "PLAN"],
    ["runbook", "show", "coordinator-stuck"],
    ["runbook", "list"],
    ["runbook", "list", "--json"],
    ["runbook", "validate"],
    ["runbook", "history"],
    ["runbook", "history", "--json"],
    ["runbook", "history", "RUN"],
    ["runbook", "verify", "RUN"],
    ["explain", "KFX101"],
]


def test_no_command_that_reads_sends_a_change(home: Path, tmp_path: Path) -> None:
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    plan = stage.plan()
    stage.run(plan)
    run = stage.last_run.id
    sick = Stage(SCENARIOS["coordinator-stuck"], tmp_path / "none")
    fake = FakeWiring(sick.cluster, sick.finding)
    behind = fake.app(home, sick.cluster.clock)
    forbid(sick.cluster)
    for words in LOOKS:
        args = [{"PLAN": str(tmp_path / "plan.json"), "RUN": run}.get(word, word) for word in words]
        result = CliRunner().invoke(app, args, obj=behind)
        assert not isinstance(result.exception, CalledError), words
        assert result.exit_code in {0, 2, 3, 4, 5, 10}, (words, result.output)
        assert "Traceback" not in result.output
    assert json.loads((tmp_path / "plan.json").read_text())["plan_id"]
    assert sick.calls == []
