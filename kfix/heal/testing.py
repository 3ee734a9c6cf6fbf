"""Runs the tests of runbooks: plans, and if expected runs, on in-memory clusters that the caller provides."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kfix import __version__
from kfix.core.args import Args, ArgValue, coerce
from kfix.core.diagnosis.finding import REQUEST, FactValue, Finding
from kfix.core.documents.problems import unknown
from kfix.core.errors import KfixError, RefusedError
from kfix.heal.execution.context import Context
from kfix.heal.execution.run import run_plan
from kfix.heal.gate.gates import Given, Unattended
from kfix.heal.journal.runs import RunStore
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents.prepared import PreparedIncident
from kfix.heal.model.plan import Created, Gate, Plan
from kfix.heal.model.runbook import Runbook, RunbookTest
from kfix.heal.planning import matching
from kfix.heal.planning.planner import AlreadyMet, make_plan
from kfix.heal.policy import NO_POLICY
from kfix.heal.runbook.placements import PlacementInput
from kfix.heal.safety.door import Door

Incidents = Mapping[str, Callable[[], PreparedIncident]]


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of one test. `problems` lists the expectations that were not met."""

    runbook: str
    test: str
    problems: tuple[str, ...]


def run_tests(runbook: Runbook, incidents: Incidents, home: Path) -> Iterator[Tested]:
    """Yields the result of each test. Runs are recorded under `home`, which is never the store of real runs."""
    for number, test in enumerate(runbook.tests):
        problems = tuple(_problems(runbook, test, incidents, home / f"{runbook.id}-{number}"))
        yield Tested(runbook.id, test.name, problems)


def _problems(runbook: Runbook, test: RunbookTest, incidents: Incidents, home: Path) -> Iterator[str]:
    if test.cluster not in incidents:
        yield unknown("cluster", test.cluster, incidents)
        return
    incident = incidents[test.cluster]()
    wanted = test.expect
    try:
        plan = _plan(runbook, test, incident)
    except RefusedError as refusal:
        reason = str(refusal)
        if not wanted.refused_by:
            yield f"expected a plan, but it was refused: {reason}"
        elif wanted.refused_by not in reason:
            yield f"refused_by: expected {wanted.refused_by!r}, but the refusal was: {reason}"
        return
    except (KfixError, ValueError) as error:
        yield f"no plan: {error}"
        return
    if wanted.refused_by:
        got = "there was nothing to do" if isinstance(plan, AlreadyMet) else f"a plan of {len(plan.steps)} steps"
        yield f"refused_by: expected {wanted.refused_by!r}, got {got}"
    elif isinstance(plan, AlreadyMet):
        yield f"expected a plan, but there was nothing to do: {plan.why or 'the goal is met'}"
    else:
        yield from _of_plan(plan, test)
        if wanted.healed:
            yield from _of_run(plan, incident.cluster, home)


def _of_plan(plan: Plan, test: RunbookTest) -> Iterator[str]:
    wanted, steps = test.expect, tuple(step.id for step in plan.steps)
    if wanted.steps and steps != tuple(wanted.steps):
        yield f"steps: expected [{', '.join(wanted.steps)}], got [{', '.join(steps)}]"
    if wanted.max_gate is not None and plan.highest_gate > wanted.max_gate:
        yield f"max_gate: expected {wanted.max_gate.word} at most, got {plan.highest_gate.word}"


def _of_run(plan: Plan, cluster: MemoryCluster, home: Path) -> Iterator[str]:
    given = Given(Gate.STEP, {step.id: step.phrase for step in plan.steps}, "the runbook's test")
    # A cluster in memory has no network that could be cut, and the site's policy is not under test.
    door = Door(cluster, NO_POLICY, tuple, cluster.clock)
    context = Context(cluster, door, cluster.clock, RunStore(home), Unattended(), given, lock=cluster.lock)
    try:
        run_plan(plan, context)
    except KfixError as error:
        yield f"healed: expected a proof, got: {error}"


def _plan(runbook: Runbook, test: RunbookTest, incident: PreparedIncident) -> Plan | AlreadyMet:
    cluster = incident.cluster
    params = _params(runbook, test)
    placement_input = PlacementInput(cluster.snapshot(), offsets=incident.offsets)
    created = Created(cluster.clock.now(), "test", "test", __version__)
    finding = _finding(runbook, test, incident, placement_input, params)
    return make_plan(runbook, finding, cluster, created=created, params=params, placement_input=placement_input)


def _params(runbook: Runbook, test: RunbookTest) -> Args:
    found: dict[str, ArgValue] = {}
    for name, value in test.params.items():
        if name not in runbook.params:
            raise ValueError(unknown("parameter", name, runbook.params))
        found[name] = coerce(runbook.params[name].type, value)
    return Args(found)


def _finding(
    runbook: Runbook, test: RunbookTest, incident: PreparedIncident, placement_input: PlacementInput, params: Args
) -> Finding:
    """Returns the incident's finding. `finding` in the YAML names its code and the facts that differ."""
    code = test.finding.get("code", incident.finding.code)
    if code == REQUEST:
        return matching.request(runbook, str(params.get(matching.TOPIC, "")), placement_input.snapshot, "test")
    if code != incident.finding.code:
        raise ValueError(f"the cluster {test.cluster} gives {incident.finding.code}, not {code}")
    facts: dict[str, FactValue] = dict(incident.finding.facts)
    facts |= {name: _fact(value) for name, value in test.finding.items() if name != "code"}
    return replace(incident.finding, facts=facts)


def _fact(value: object) -> FactValue:
    assert isinstance(value, int | str | bool | tuple), value
    return value
