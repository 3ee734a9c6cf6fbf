"""Left-over replication throttles: no reassignment is in progress, and a lagging replica catches up very slowly."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind
from kfix.lab.incidents.setup.throttles import Throttle

_RATE = 1000


@Incident(
    "left-over-throttles",
    title="replication throttles are on, though nothing moves",
    does="Sets throttled rates on brokers and throttled replicas on a topic, and moves nothing.",
    expect=("a replica that falls behind catches up very slowly: after the next restart it is out of sync for hours",),
    options={
        "rate": f"bytes a second ({_RATE})",
        "lagging": "yes: a replica lags and catches up very slowly (default: no)",
    },
    choices={"lagging": ("no", "yes")},
    ranges={"rate": range(1, 1_000_001)},
)
def run(context: IncidentContext) -> IncidentOutcome:
    rate = context.int_option("rate") or _RATE
    lagging = context.options["lagging"] == "yes"
    replicas = tuple(context.controller_first()[:3])
    where = [TopicPartition(TOPIC, number) for number in range(2)]
    context.topic(TOPIC, [list(replicas) for _ in where])
    slow = replicas[-1]
    if lagging:
        fall_behind(context, where, (slow,))
    everywhere = dict.fromkeys(where, replicas)
    throttles.put(context, Throttle(rate, everywhere, everywhere))
    context.report(f"left throttles of {rate} bytes per second on brokers {list(replicas)} and on topic {TOPIC}")
    for each in where:
        state = context.live_state(each)
        context.require((slow not in state.isr) == lagging, f"{slow} is {'out of' if lagging else 'in'} sync on {each}")
    context.require(not context.access.being_reassigned(TOPIC), "nothing moves")
    return IncidentOutcome(
        f"broker {slow} lags behind on {TOPIC}, nothing moves, groups work"
        if lagging
        else "all replicas in sync, nothing moves, groups work",
        (f"broker {slow} is alive and stays outside the ISR of {TOPIC}",) if lagging else (),
        partitions=where,
        details={"rate": rate, "brokers": ",".join(map(str, replicas)), **({"lagging": slow} if lagging else {})},
    )
