"""Rules over all runbooks, actions and probes: they load, they are tested, they are used, and their tests pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kfix import __version__
from kfix.actions.registry import ALL as ACTIONS
from kfix.actions.registry import described
from kfix.adapters.memory.incidents import ALL as INCIDENTS
from kfix.errors import RefusedError
from kfix.model.args import Args
from kfix.model.finding import FactValue
from kfix.model.plan import Created, Gate, Plan
from kfix.model.runbook import CheckTemplate, Runbook, RunbookTest
from kfix.probes.registry import ALL as PROBES
from kfix.report.runbook_page import ActionWords, page
from kfix.runbook.catalogue import load_all, shipped_dir
from kfix.runbook.planner import make_plan
from kfix.runbook.run import Scene, run_plan
from kfix.runbook.store import RunStore

RUNBOOKS = {r.id: r for r in load_all(None)}
CASES = [pytest.param(r, t, id=f"{r.id}: {t.name}") for r in RUNBOOKS.values() for t in r.tests]


class SaysYes:
    interactive = True

    def show(self, text: str) -> None:
        assert text

    def ask(self, prompt: str) -> str:
        assert prompt
        return "y"


@pytest.mark.parametrize(("runbook", "case"), CASES)
def test_every_test_of_every_runbook_passes(runbook: Runbook, case: RunbookTest, tmp_path: Path) -> None:
    incident = INCIDENTS[case.cluster]()
    cluster = incident.cluster
    facts: dict[str, FactValue] = dict(incident.finding.facts)
    finding = replace(incident.finding, code=str(case.finding["code"]), facts=facts)
    assert finding.code == incident.finding.code
    created = Created(cluster.clock.now(), "tests", "tests", __version__)
    if case.expect.refused_by:
        with pytest.raises(RefusedError, match=case.expect.refused_by):
            make_plan(runbook, finding, cluster, created=created)
        assert not case.expect.healed
        return
    plan = make_plan(runbook, finding, cluster, created=created)
    assert isinstance(plan, Plan)
    if case.expect.steps:
        assert tuple(s.id for s in plan.steps) == case.expect.steps
    if case.expect.max_gate is not None:
        assert plan.highest_gate <= case.expect.max_gate
    if case.expect.healed:
        run_plan(plan, Scene(cluster, cluster, cluster.clock, RunStore(tmp_path), SaysYes()))


def test_every_shipped_file_is_a_runbook_of_its_name() -> None:
    assert {p.stem for p in shipped_dir().iterdir() if p.suffix == ".yaml"} == RUNBOOKS.keys()


def test_every_action_is_registered_under_its_name_and_used_by_a_runbook() -> None:
    assert all(name == action.name for name, action in ACTIONS.items())
    assert {s.action for r in RUNBOOKS.values() for s in r.steps} == ACTIONS.keys()


def _checks(runbook: Runbook) -> Iterator[CheckTemplate]:
    yield from (*runbook.preconditions, *runbook.goal.checks)
    for step in runbook.steps:
        yield from (*step.require, *step.unless, *step.verify)


def test_every_probe_is_registered_under_its_name_and_used() -> None:
    assert all(name == probe.name for name, probe in PROBES.items())
    used = {c.check for r in RUNBOOKS.values() for c in _checks(r)}
    example = Args({"partition": "t-0"})
    guards = {call.check for action in ACTIONS.values() for call in action.guards(example)}
    assert used | guards == PROBES.keys()


def test_every_module_of_actions_and_probes_is_registered() -> None:
    import kfix.actions
    import kfix.probes

    plumbing = {"__init__", "base", "registry", "partition", "facts", "words"}
    for package, registry in ((kfix.actions, ACTIONS), (kfix.probes, PROBES)):
        modules = {p.stem for p in Path(str(package.__file__)).parent.glob("*.py")} - plumbing
        assert modules == {name.replace(".", "_") for name in registry}


def test_every_incident_is_used_by_a_runbooks_test() -> None:
    assert {t.cluster for r in RUNBOOKS.values() for t in r.tests} == INCIDENTS.keys()


def test_no_action_that_changes_the_whole_cluster_passes_with_the_plans_approval() -> None:
    for action in ACTIONS.values():
        assert action.gate_floor >= (Gate.STEP if action.risk == "the whole cluster" else Gate.PLAN)


def test_the_election_named_unclean_is_guarded_by_a_live_isr_member() -> None:
    (guard,) = ACTIONS["leader.elect_isr"].guards(Args({"partition": "t-0"}))
    assert guard.check == "partition_has_live_isr"


def test_every_runbook_has_a_page_with_a_way_by_hand_for_each_step() -> None:
    words = {name: ActionWords(*described(action)) for name, action in ACTIONS.items()}
    for runbook in RUNBOOKS.values():
        text = page(runbook, words)
        assert text.count("- by hand:") == len(runbook.steps)
        assert all(step.why in text for step in runbook.steps)


def test_what_a_runbook_is_for_is_a_finding_that_exists() -> None:
    from kfix_diagnostics import ALL as CHECKS

    known = {check.code for check in CHECKS}
    assert {c for r in RUNBOOKS.values() for c in r.codes} <= known


def test_who_carries_out_a_plan_loads_no_planner_no_template_and_no_yaml() -> None:
    script = "import sys, kfix.runbook.run\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    parts = {f"kfix.runbook.{name}" for name in ("planner", "refs", "decide", "load", "schema", "lint", "catalogue")}
    assert not loaded & (parts | {"yaml", "pydantic", "typer", "rich"})


@pytest.mark.parametrize("name", sorted(INCIDENTS.keys() - {"dead-isr"}))
def test_a_diagnosis_of_each_incident_gives_the_finding_its_runbook_is_tested_with(name: str) -> None:
    from kfix_diagnostics.engine import diagnose

    incident = INCIDENTS[name]()
    incident.cluster.advance(600)
    wanted = incident.finding
    found = {f.partitions[0]: f for f in diagnose(incident.cluster.snapshot()).walk() if f.code == wanted.code}
    assert found.keys() == set(wanted.partitions)
    facts = found[wanted.partitions[0]].facts
    assert facts.keys() == wanted.facts.keys()
    assert {k: v for k, v in facts.items() if k != "group"} == {k: v for k, v in wanted.facts.items() if k != "group"}


def test_a_dead_isr_is_no_finding_of_a_runbook() -> None:
    from kfix_diagnostics.engine import diagnose

    incident = INCIDENTS["dead-isr"]()
    incident.cluster.advance(600)
    codes = {f.code for f in diagnose(incident.cluster.snapshot()).walk()}
    assert not codes & {code for r in RUNBOOKS.values() for code in r.codes}
