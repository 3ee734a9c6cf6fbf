"""A zone cut off whole: what its four incidents have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.cast import SEEN_SECONDS, TOPIC, Cast, cast
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.incidents.incident import Incident
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

WRITE_SECONDS = 12.0


def isolated(stage: Stage, incident: Incident, *, with_controller: bool, with_leader: bool) -> Broken:
    """`ledger` is led inside or outside; both sides write to it while the zone is cut."""
    groups = stage.content()
    actors = cast(stage)
    inside = actors.controller if with_controller else actors.one
    outside = actors.other
    if with_leader:
        partitions = actors.ledger(inside, outside)
    else:
        partitions = actors.ledger(outside, actors.one if with_controller else actors.controller)
        actors.lead_nothing(inside)
    acks = str(stage.options["acks"])
    writers = {"writer_inside": actors.write_from(inside, WRITE_SECONDS, acks, retries=3)}
    writers["writer_outside"] = actors.write_from(outside, WRITE_SECONDS)
    _wait_written(stage, partitions)
    actors.isolate(inside)
    actors.wait_unregistered(inside)
    if with_controller:
        writers["new_controller"] = actors.wait_other_controller()
    if with_leader:
        moved = stage.wait_state(TOPIC, 0, "another leads", lambda each: each.leader not in {-1, inside}, SEEN_SECONDS)
        _require_two_leaders(stage, inside, moved.leader)
        writers["new_leader"] = moved.leader
    stage.wait_state(TOPIC, 1, f"{inside} left its isr", lambda each: inside not in each.isr, SEEN_SECONDS)
    _require_old_belief(stage, actors, inside)
    return stage.broken(
        incident.name,
        incident.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions[:1] if with_leader else (),
        details={"isolated": inside, "zone": actors.zone(inside), "controller_before": actors.controller, **writers},
    )


def _wait_written(stage: Stage, partitions: list[TopicPartition]) -> None:
    """Both writers are at work, so that the cut catches records on their way."""
    before = {tp: _end(stage, tp) for tp in partitions}
    wait_for("the writers write", lambda: all(_end(stage, tp) > before[tp] for tp in partitions), SEEN_SECONDS)


def _end(stage: Stage, tp: TopicPartition) -> int:
    leader = stage.live_state(*tp).leader
    return stage.log_ends(tp, [leader]).get(leader, -1)


def _require_two_leaders(stage: Stage, old: int, new: int) -> None:
    where = TopicPartition(TOPIC, 0)
    # A new leader answers once its followers have fetched under its epoch (error 78 until then).
    wait_for(
        f"brokers {old} and {new} both lead {where}",
        lambda: all(stage.error_as_leader(broker, where) == 0 for broker in (old, new)),
        SEEN_SECONDS,
    )
    stage.say(f"checked: brokers {old} and {new} both answer as leader of {where}")


def _require_old_belief(stage: Stage, actors: Cast, inside: int) -> None:
    seen = stage.access.metadata(inside)
    stage.require(
        seen is not None and seen.controller == actors.controller and len(seen.brokers) == len(stage.ids()),
        f"broker {inside} still believes that everybody is there and broker {actors.controller} is controller",
    )
    stage.say(f"checked: broker {inside} believes what was true before")
