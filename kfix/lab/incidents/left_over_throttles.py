"""Replication throttles that somebody forgot: nothing moves, and a replica that lags catches up at a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab import throttles
from kfix.lab.incidents.incident import Incident
from kfix.lab.slow import fall_behind
from kfix.lab.throttles import Throttle
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
_RATE = 1000


def run(stage: Stage) -> Broken:
    groups = stage.content()
    rate = stage.int_option("rate") or _RATE
    lagging = stage.options["lagging"] == "yes"
    controller = wait_for("there is a controller", stage.access.controller, 10)
    replicas = tuple(sorted(stage.ids(), key=lambda each: each != controller)[:3])
    where = [TopicPartition(TOPIC, number) for number in range(2)]
    stage.topic(TOPIC, [list(replicas) for _ in where])
    slow = replicas[-1]
    if lagging:
        fall_behind(stage, where, (slow,))
    everywhere = dict.fromkeys(where, replicas)
    throttles.put(stage, Throttle(rate, everywhere, everywhere))
    stage.say(f"left throttles of {rate} bytes a second on brokers {list(replicas)} and on topic {TOPIC}")
    for each in where:
        state = stage.live_state(*each)
        stage.require((slow not in state.isr) == lagging, f"{slow} is {'out of' if lagging else 'in'} sync on {each}")
    stage.require(not stage.access.being_reassigned(TOPIC), "nothing moves")
    stage.wait_groups(groups, groups.by_partition)
    stage.say(
        f"checked: broker {slow} lags behind on {TOPIC}, nothing moves, groups work"
        if lagging
        else "checked: all replicas in sync, nothing moves, groups work"
    )
    return stage.broken(
        INCIDENT.name,
        (
            *((f"broker {slow} lives, and stays outside the isr of {TOPIC}",) if lagging else ()),
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=where,
        details={"rate": rate, "brokers": ",".join(map(str, replicas)), **({"lagging": slow} if lagging else {})},
    )


INCIDENT = Incident(
    name="left-over-throttles",
    title="replication throttles are on, though nothing moves",
    does="Sets throttled rates on brokers and throttled replicas on a topic, and moves nothing.",
    expect=("a replica that falls behind crawls: after the next restart it is out of sync for hours",),
    run=run,
    options={
        "rate": f"bytes a second ({_RATE})",
        "lagging": "yes: a replica has fallen behind, and crawls (no)",
    },
    choices={"lagging": ("no", "yes")},
    ranges={"rate": range(1, 1_000_001)},
)
