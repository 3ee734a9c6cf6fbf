"""`kfix lab break`: the preconditions of an incident, and its record in lab.json."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.lab.definition.recipes import ON
from kfix.lab.definition.state import LabState
from kfix.lab.incidents import INCIDENTS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Broken, Incident
from kfix.lab.incidents.setup.options import checked
from kfix.lab.network.faults import sentences
from kfix.lab.nodes.handle import LabHandle


def incident_named(name: str) -> Incident:
    if name not in INCIDENTS:
        raise UsageError(
            f"unknown incident {name!r}{did_you_mean(name, INCIDENTS)}", hint="kfix lab incidents lists them"
        )
    return INCIDENTS[name]


def break_lab(lab: LabHandle, name: str, options: dict[str, Any], progress: Callable[[str], None]) -> Broken:
    incident = incident_named(name)
    _check(lab, incident)
    options = checked(incident, options)
    with lab.access() as access:
        reported: list[str] = []

        def report(text: str) -> None:
            reported.append(text)
            progress(text)

        context = IncidentContext(lab, access, options, report)
        context.ensure_offsets_topic()
        reported.clear()
        # Before the first change: whatever happens from here on, `mend` can restore the cluster.
        baseline = access.baseline(lab.broker_ids)
        lab.store.update(lambda state: replace(state, baseline=baseline, incident=name))
        try:
            return incident.make(context)
        except UsageError:
            # An incident reports each change: this one was refused before the first of them.
            if not reported:
                lab.store.update(lambda state: replace(state, baseline=None, incident=None))
            raise


def _check_line(name: str, state: LabState, incident: Incident) -> None:
    recipe = state.spec.recipe
    if reason := incident.reason_against(recipe):
        possible = (each.name for each in INCIDENTS.values() if not each.reason_against(recipe))
        raise UsageError(
            f"{incident.name} cannot be made in lab {name!r}, Kafka {recipe.kafka} {ON[recipe.mode]}: {reason}",
            hint=f"there: {', '.join(possible)}",
        )
    if incident.elr and not state.spec.elr:
        raise UsageError(
            f"{incident.name} needs eligible leader replicas, lab {name!r} has none",
            hint="kfix lab up without --no-elr",
        )
    if incident.own_controllers and state.spec.combined:
        raise UsageError(
            f"{incident.name} stops controllers, those of lab {name!r} are brokers, too",
            hint="kfix lab up without --combined",
        )


def _check(lab: LabHandle, incident: Incident) -> None:
    state = lab.state
    if state.incident:
        raise UsageError(f"lab {lab.name!r} is already in incident {state.incident!r}", hint="kfix lab mend first")
    _check_line(lab.name, state, incident)
    if len(lab.broker_ids) < incident.needs:
        raise UsageError(
            f"{incident.name} needs {incident.needs} brokers, lab {lab.name!r} has {len(lab.broker_ids)}",
            hint=f"kfix lab up --brokers {incident.needs}",
        )
    if incident.zones and state.network is None:
        raise UsageError(
            f"{incident.name} cuts zones from each other, lab {lab.name!r} has none", hint="kfix lab up --zones 3"
        )
    if state.network is not None and (cut := sentences(state.network)):
        raise UsageError(f"the network of lab {lab.name!r} has a fault: {cut[0]}", hint="kfix lab mend --network first")
    if unfit := incident.suits([broker for broker in state.brokers if not broker.retired]):
        raise UsageError(f"{incident.name} does not suit lab {lab.name!r}: {unfit}")
    nodes = lab.nodes
    down = [f"broker {each}" for condition in ("dead", "stopped") for each in nodes.brokers_in(state, condition)]
    role = lab.authority.role
    down += [f"{role} {each}" for condition in ("dead", "stopped") for each in nodes.those_in(state, role, condition)]
    if down:
        raise UsageError(f"not running in lab {lab.name!r}: {', '.join(down)}", hint="kfix lab mend first")
