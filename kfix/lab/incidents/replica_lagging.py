"""A live replica is out of sync: stuck, too slow, or catching up. Only its log end over time shows which."""

from __future__ import annotations

from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind
from kfix.lab.incidents.setup.throttles import Throttle
from kfix.lab.waiting import wait_for
from kfix.lab.workload.background import start_in_background

#: Records of 200 kB, and bytes a second: a minute's work and more for a replica that moves at all.
_BACKLOG = {"stuck": 25, "slow": 60, "catching-up": 120}
_RATE = {"slow": 150_000, "catching-up": 400_000}
_STEP_SECONDS = 20.0


@Incident(
    "replica-lagging",
    title="a live replica is out of sync: stuck, slow, or catching up",
    does="Makes a replica lag, then lets it fetch nothing, slowly, or fast enough to catch up.",
    expect=(
        "no client is blocked while min.insync.replicas is 1",
        "two snapshots show which: stuck makes no progress, slow keeps its distance, catching up gets closer",
    ),
    options={"kind": "stuck (default), slow or catching-up"},
    choices={"kind": ("stuck", "slow", "catching-up")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    kind = str(context.options["kind"])
    leader, late, third = context.controller_first()[:3]
    context.topic(TOPIC, [[leader, late, third]])
    fall_behind(context, [FIRST], (late,), backlog_records=_BACKLOG[kind])
    if kind in _RATE:
        throttles.put(context, Throttle(_RATE[kind], {FIRST: (late,)}))
        context.report(f"broker {late} may fetch {_RATE[kind]} bytes per second of {FIRST}")
    if kind == "slow":
        _write(context)
    # A throttled replica fetches once, then pauses for 11 s: what is measured now is its rate.
    before = _end(context, late)
    wait_for(f"broker {late} takes a step", lambda: _end(context, late) > before, _STEP_SECONDS)
    state = context.live_state(FIRST)
    context.require(late not in state.isr, f"{late} is out of sync")
    return IncidentOutcome(
        f"broker {late} is out of sync on {FIRST}",
        partitions=[FIRST],
        details={"lagging": late, "leader": leader, "kind": kind},
        hung=None,
    )


def _end(context: IncidentContext, broker: int) -> int:
    return context.log_ends(FIRST, [broker]).get(broker, -1)


def _write(context: IncidentContext) -> None:
    from kfix.lab.workload.workload import WorkloadPlan  # noqa: PLC0415 - brings the client library

    lab = context.lab
    plan = WorkloadPlan(lab.bootstrap_servers, TOPIC, acks="1", rate=50, seconds=60, consume=False)
    context.report(f"workload {start_in_background(lab, plan)} writes 50 records per second to {TOPIC}")
