"""Rules over all runbooks, actions and probes: they load, they are tested, they are used, and their tests pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from kfix import __version__
from kfix.core.args import Args
from kfix.core.diagnosis.finding import REQUEST
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.actions.registry import example
from kfix.heal.execution.context import Context
from kfix.heal.execution.run import run_plan
from kfix.heal.gate.gates import Given
from kfix.heal.journal.runs import RunStore
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.state import ManualClock
from kfix.heal.model.plan import Created, Gate, Plan
from kfix.heal.model.runbook import CheckTemplate, Runbook, RunbookTest
from kfix.heal.plan.planfile import from_json, to_json
from kfix.heal.planning.planner import AlreadyMet, make_plan
from kfix.heal.planning.values import parse_params
from kfix.heal.policy import NO_POLICY
from kfix.heal.probes.base import Probe
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.report.page import page
from kfix.heal.runbook.catalogue import shipped_dir
from kfix.heal.runbook.placements import PlacementInput
from kfix.heal.safety.door import Door
from kfix_diagnostics._advice import ZOOKEEPER_ONLY
from tests import shipped
from tests.each import for_each


def cases() -> list[Any]:
    return [pytest.param(r, t, id=f"{r.id}: {t.name}") for r in shipped.runbooks().values() for t in r.tests]


class SaysYes:
    interactive = True

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock

    def show(self, text: str) -> None:
        assert text

    def ask(self, prompt: str, within: float | None = None) -> str:
        assert prompt
        assert within is None
        self.clock.sleep(5.0)
        return "y"


def test_a_finding_on_kraft_names_the_runbooks_that_act_there_and_no_other() -> None:
    assert {r.id for r in shipped.runbooks().values() if Mode.KRAFT not in r.metadata.modes} == ZOOKEEPER_ONLY


@for_each(("runbook", "case"), cases)
def test_every_test_of_every_runbook_passes(runbook: Runbook, case: RunbookTest, tmp_path: Path) -> None:
    incident = INCIDENTS[case.cluster]()
    cluster = incident.cluster
    assert incident.finding.code == case.finding["code"]
    created = Created(cluster.clock.now(), "tests", "tests", __version__)
    params = parse_params(runbook, {k: str(v).lower() if v is True else str(v) for k, v in case.params.items()})
    look = PlacementInput(cluster.snapshot(), offsets=incident.offsets)

    def plan() -> Plan | AlreadyMet:
        return make_plan(runbook, incident.finding, cluster, created=created, params=params, placement_input=look)

    if case.expect.refused_by:
        with pytest.raises(RefusedError, match=case.expect.refused_by):
            plan()
        assert not case.expect.healed
        return
    made = plan()
    assert isinstance(made, Plan)
    assert from_json(to_json(made), "plan") == made
    if case.expect.steps:
        assert tuple(s.id for s in made.steps) == tuple(case.expect.steps)
    if case.expect.max_gate is not None:
        assert made.highest_gate <= case.expect.max_gate
    if case.expect.healed:
        given = Given(acks={s.id: s.phrase for s in made.steps if s.gate is Gate.TYPED})
        door, person = Door(cluster, NO_POLICY, tuple, cluster.clock), SaysYes(cluster.clock)
        run_plan(made, Context(cluster, door, cluster.clock, RunStore(tmp_path), person, given, lock=cluster.lock))


def test_every_shipped_file_is_a_runbook_of_its_name() -> None:
    assert {p.stem for p in shipped_dir().iterdir() if p.suffix == ".yaml"} == shipped.runbooks().keys()


def test_every_action_is_registered_under_its_name_and_used_by_a_runbook() -> None:
    assert all(name == action.name for name, action in ACTIONS.items())
    assert {s.action for r in shipped.runbooks().values() for s in r.steps} == ACTIONS.keys()


def _checks(runbook: Runbook) -> Iterator[CheckTemplate]:
    yield from (*runbook.preconditions, *runbook.goal.all, *runbook.standing)
    yield from runbook.invariants
    for step in runbook.steps:
        yield from (*step.require, *step.unless, *step.verify)


# For the runbooks of a site; each is tested by itself.
SITE_PROBES = {"controller_is", "free_space"}
EXAMPLES = {
    "config.set": Args(
        {"kind": "topic", "name": "t", "key": "min.insync.replicas", "value": "2", "before": "1", "effective": "1"}
    ),
    "reassign.move": Args({"partition": "t-0", "replicas": (3,), "before": (1, 2), "bytes": 1, "rate": 0}),
    "leader.elect_preferred": Args({"partition": "t-0", "winner": 2, "after_reorder": "other-in-sync"}),
    "reassign.reorder": Args({"partition": "t-0", "first": "2", "before": (1, 2), "replicas": (2, 1)}),
}

#: Whose checks depend on the arguments.
OTHERS = {"config.set": (EXAMPLES["config.set"].with_(key="unclean.leader.election.enable", value="true"),)}


def test_every_probe_is_registered_under_its_name_and_used() -> None:
    assert all(name == probe.name for name, probe in PROBES.items())
    used = {c.check for r in shipped.runbooks().values() for c in _checks(r)}
    for action in ACTIONS.values():
        for args in (EXAMPLES.get(action.name, example(action)), *OTHERS.get(action.name, ())):
            used |= {call.check for ask in (action.guards, action.proves, action.hopeless) for call in ask(args)}
    assert used == PROBES.keys() - SITE_PROBES


def test_every_action_that_a_module_declares_is_registered() -> None:
    import kfix.heal.actions

    names = [f"kfix.heal.actions.{each.name}" for each in iter_modules(kfix.heal.actions.__path__)]
    found = {kind for name in names for kind in vars(import_module(name)).values() if isinstance(kind, type)}
    declared = {kind for kind in found if issubclass(kind, Action) and "name" in vars(kind)}
    assert declared == {type(action) for action in ACTIONS.values()}


def test_every_probe_that_a_module_declares_is_registered() -> None:
    import kfix.heal.probes

    names = [f"kfix.heal.probes.{each.name}" for each in iter_modules(kfix.heal.probes.__path__)]
    found = [each for name in names for each in vars(import_module(name)).values() if isinstance(each, Probe)]
    assert {each.name for each in found} == PROBES.keys()


def test_every_incident_is_used_by_a_runbooks_test() -> None:
    assert {t.cluster for r in shipped.runbooks().values() for t in r.tests} == INCIDENTS.keys()


def test_no_action_that_changes_the_whole_cluster_passes_with_the_plans_approval() -> None:
    for action in ACTIONS.values():
        if action.changes and action.name not in {"throttle.restore", "compaction.restore", "retention.restore"}:
            assert action.gate_floor >= (Gate.STEP if action.risk == "the whole cluster" else Gate.PLAN)


def test_the_election_named_unclean_is_guarded_by_a_live_isr_member() -> None:
    guards = ACTIONS["leader.elect_isr"].guards(Args({"partition": "t-0"}))
    assert [guard.check for guard in guards] == ["partition_has_live_isr", "isr_replica_online"]


def test_whatever_elects_another_controller_reads_every_partition_first() -> None:
    (guard,) = ACTIONS["controller.reelect"].guards(Args())
    assert guard.check == "reelection_is_safe"
    assert not guard.args


def test_every_runbook_has_a_page_with_a_way_by_hand_for_each_step() -> None:
    for runbook in shipped.runbooks().values():
        text = page(runbook)
        assert text.count("- by hand:") == len(runbook.steps)
        assert all(step.why in text for step in runbook.steps)


def test_what_a_runbook_is_for_is_a_finding_that_exists() -> None:
    from kfix_diagnostics import ALL as CHECKS

    known = {check.code for check in CHECKS}
    assert {c for r in shipped.runbooks().values() for c in r.codes} <= known


def test_who_carries_out_a_plan_loads_no_planner_no_template_and_no_yaml() -> None:
    script = "import sys, kfix.heal.execution.run\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {each for each in loaded if each.startswith(("kfix.heal.planning", "kfix.heal.runbook"))}
    assert not loaded & {"yaml", "pydantic", "typer", "rich"}


#: Incidents that a finding with another code names, and its runbook refuses.
NAMED_BY_ANOTHER = {"coordinator-stuck-isr-dead", "coordinator-stuck-log-dir-failed"}


def found_by_diagnosis() -> list[str]:
    return [n for n, make in INCIDENTS.items() if n not in NAMED_BY_ANOTHER and make().finding.code != REQUEST]


@for_each("name", found_by_diagnosis)
def test_a_diagnosis_of_each_incident_gives_the_finding_its_runbook_is_tested_with(name: str) -> None:
    from kfix_diagnostics.engine import diagnose

    incident = INCIDENTS[name]()
    wanted = incident.finding
    if not incident.cluster.loading:
        incident.cluster.advance(600)
    found = [f for f in diagnose(incident.cluster.snapshot()).walk() if f.code == wanted.code]
    assert {tp for f in found for tp in f.partitions} == set(wanted.partitions)
    if wanted.facts:
        facts = found[0].facts
        assert facts.keys() == wanted.facts.keys()
        if len(wanted.partitions) == 1:
            assert {k: v for k, v in facts.items() if k != "group"} == {
                k: v for k, v in wanted.facts.items() if k != "group"
            }


def test_a_dead_isr_is_no_finding_of_a_runbook_for_a_live_one() -> None:
    from kfix_diagnostics.engine import diagnose

    incident = INCIDENTS["coordinator-stuck-isr-dead"]()
    incident.cluster.advance(600)
    codes = {f.code for f in diagnose(incident.cluster.snapshot()).walk()}
    assert not codes & set(shipped.runbooks()["coordinator-stuck"].codes)
