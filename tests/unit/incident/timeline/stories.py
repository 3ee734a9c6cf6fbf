"""The founding incident on paper, snapshot by snapshot, with the run that healed it; and pairs of snapshots."""

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime

from kfix.core.criteria import Criteria
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.incident.timeline.build import Material
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import NOW, Paper

BEGAN = NOW - 600.0  # 2027-01-15T07:50:00Z
RUN = "20270115T075700Z-1a2b3c4d"


def cluster():
    return Paper().topic("orders", 6).offsets(5)


def at(paper, seconds, name, **changes):
    """Returns a snapshot taken `seconds` after BEGAN."""
    return deepcopy(paper).snapshot(taken_at=BEGAN + seconds, origin=f"/snapshots/{name}.json", **changes)


def age(seconds):
    """Of something that happened so many seconds after BEGAN, as Paper counts."""
    return NOW - (BEGAN + seconds)


def founding():
    """Healthy, metadata divergence (unseen), coordinator stuck twice, healed, healthy."""
    paper = cluster()
    snapshots = [at(paper, 0, "00-healthy")]
    paper.forge(OFFSETS_TOPIC, 0, leader=3, isr=(3, 2), age=age(100))
    paper.groups = ("payments",)
    snapshots.append(at(paper, 120, "01-metadata-divergence"))
    paper.fall(OFFSETS_TOPIC, 0, 3, age=age(300))
    snapshots += [at(paper, 310, "02-coordinator-stuck"), at(paper, 400, "03-coordinator-stuck")]
    part = paper.part(OFFSETS_TOPIC, 0)
    part.write(leader=2, isr=(1, 2), age=age(421.5))
    snapshots.append(at(paper, 430, "04-healed"))
    paper.back(3, age=age(500), in_sync=True)
    snapshots.append(at(paper, 590, "05-whole"))
    return snapshots


def records():
    """A journal as `kfix runbook apply` writes it, without the chain."""
    who = {"user": "ann", "host": "ops1", "uid": 1000, "pid": 7, "tty": True}

    def record(after, kind, /, **more):
        when = datetime.fromtimestamp(BEGAN + after, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"t": when, "type": kind, "run": RUN, "plan": "1a2b3c4d", "who": who, **more}

    step = {"step": "nudge"}
    return (
        record(
            420, "run.start", cluster="paper", runbook="coordinator-stuck", finding="KFX101:__consumer_offsets-0",
            partitions=["__consumer_offsets-0"], title="No leader, although an in-sync replica is alive",
        ),
        record(420.1, "verify.sample", part="goal", check="c()", observed="leader none", verdict="fail"),
        record(420.2, "gate.asked", **step, level="plan"),
        record(421, "gate.answered", **step, answer="y", passed=True),
        record(421.3, "step.intent", **step, action="reassign.noop", args={"partition": "__consumer_offsets-0"},
               pre_image={}),
        record(421.6, "step.result", **step, ok=True, code=0, error="", changed=True),
        record(421.8, "step.verified", **step, seconds=0.2),
        record(422, "verify.sample", part="proof", check="p()", observed="broker 2 answers", verdict="pass"),
        record(422.5, "run.end", outcome="proved", exit=0, changed=["nudge: reassign to the same replicas"],
               seconds_to_proof=1.5, left=[]),
    )  # fmt: skip


def material(snapshots, *, vantage=lambda _: ""):
    made = Material()
    for snapshot in snapshots:
        made.add_snapshot(snapshot, diagnose(snapshot, criteria=Criteria(restart_grace=0.0)), vantage(snapshot))
    return made


def founding_report(title="Payments stood still"):
    made = material(founding())
    made.add_journal(records(), RUN)
    return made.report(title, "0.1.0", (None, None))


def registered_anew(snapshot, broker, czxid, seconds):
    zookeeper = snapshot.zookeeper
    mine = replace(zookeeper.registrations[broker], czxid=czxid, registered_ms=int((BEGAN + seconds) * 1000))
    return replace(snapshot, zookeeper=replace(zookeeper, registrations={**zookeeper.registrations, broker: mine}))


def controlled_by(snapshot, broker, epoch, seconds):
    node = replace(snapshot.zookeeper.controller, broker=broker, epoch=epoch, elected_ms=int((BEGAN + seconds) * 1000))
    return replace(snapshot, zookeeper=replace(snapshot.zookeeper, controller=node))
