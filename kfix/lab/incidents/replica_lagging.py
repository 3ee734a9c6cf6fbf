"""E3: a living replica is out of sync: stuck, too slow, or catching up. Only its log end over time tells which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab import throttles
from kfix.lab.background import start_in_background
from kfix.lab.incidents.incident import Incident
from kfix.lab.slow import fall_behind
from kfix.lab.throttles import Throttle
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
WHERE = TopicPartition(TOPIC, 0)
#: Records of 200 kB, and bytes a second: a minute's work and more for a replica that moves at all.
_BACKLOG = {"stuck": 25, "slow": 60, "catching-up": 120}
_RATE = {"slow": 150_000, "catching-up": 400_000}
_STEP_SECONDS = 20.0


def run(stage: Stage) -> Broken:
    kind = str(stage.options["kind"])
    groups = stage.content()
    controller = wait_for("there is a controller", stage.access.controller, 10)
    leader, late, third = sorted(stage.ids(), key=lambda each: each != controller)[:3]
    stage.topic(TOPIC, [[leader, late, third]])
    fall_behind(stage, [WHERE], (late,), backlog_records=_BACKLOG[kind])
    if kind in _RATE:
        throttles.put(stage, Throttle(_RATE[kind], {WHERE: (late,)}))
        stage.say(f"broker {late} may fetch {_RATE[kind]} bytes a second of {WHERE}")
    if kind == "slow":
        _write(stage)
    # A throttled replica takes a step, then stands still for 11 s: what is seen now is its pace.
    before = _end(stage, late)
    wait_for(f"broker {late} takes a step", lambda: _end(stage, late) > before, _STEP_SECONDS)
    state = stage.live_state(*WHERE)
    stage.require(late not in state.isr, f"{late} is out of sync")
    stage.say(f"checked: broker {late} is out of sync on {WHERE}")
    return stage.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[WHERE],
        details={"lagging": late, "leader": leader, "kind": kind},
    )


def _end(stage: Stage, broker: int) -> int:
    return stage.log_ends(WHERE, [broker]).get(broker, -1)


def _write(stage: Stage) -> None:
    from kfix.lab.workload import WorkloadPlan  # noqa: PLC0415 - brings the client library

    lab = stage.lab
    plan = WorkloadPlan(lab.bootstrap_servers, TOPIC, acks="1", rate=50, seconds=60, consume=False)
    stage.say(f"workload {start_in_background(lab, plan)} writes 50 records a second to {TOPIC}")


INCIDENT = Incident(
    name="replica-lagging",
    title="E3: a living replica is out of sync: stuck, slow, or catching up",
    does="Lets a replica fall behind, and lets it go on at no pace, a small one, or a good one.",
    expect=(
        "nobody is blocked while min.insync.replicas is 1",
        "two looks tell which: stuck does not move, slow moves and comes no nearer, catching up comes nearer",
    ),
    run=run,
    options={"kind": "stuck (that), slow or catching-up"},
    choices={"kind": ("stuck", "slow", "catching-up")},
)
