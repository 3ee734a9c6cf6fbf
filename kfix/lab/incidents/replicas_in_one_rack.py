"""All replicas of a topic are in one rack: when that rack loses power, the topic is unavailable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.layout import spread
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.options import MEGABYTES

_PARTITIONS = 3
_UP = "kfix lab up --ids 1,2,3,4 --racks a,a,b,b"


def unfit(brokers: Sequence[BrokerDef]) -> str:
    racks = by_rack(brokers)
    if len(racks) < 2:
        return f"its brokers are in {len(racks) or 'no'} rack{'s' * (not racks)}, at least 2 are needed ({_UP})"
    if max(map(len, racks.values())) < 2:
        return f"no rack of {', '.join(sorted(racks))} has two brokers ({_UP})"
    return ""


def by_rack(brokers: Sequence[BrokerDef]) -> dict[str, list[int]]:
    racks: dict[str, list[int]] = defaultdict(list)
    for broker in brokers:
        if broker.rack is not None:
            racks[broker.rack].append(broker.id)
    return dict(racks)


@Incident(
    "replicas-in-one-rack",
    title="all replicas of a topic are in one rack",
    does="Creates a topic on the brokers of the largest rack; needs 4 brokers, two of them in one of 2 or more racks.",
    expect=("topics spread over the racks survive",),
    needs=4,
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
    suits=unfit,
)
def run(context: IncidentContext) -> IncidentOutcome:
    racks = by_rack([broker for broker in context.lab.state.brokers if not broker.retired])
    rack, ids = max(sorted(racks.items()), key=lambda item: len(item[1]))
    context.topic(TOPIC, spread(ids, _PARTITIONS, min(3, len(ids))))
    if megabytes := context.int_option("megabytes"):
        context.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        context.wait_state(each, "all replicas in sync", lambda state: len(state.isr) == min(3, len(ids)))
    return IncidentOutcome(
        f"every replica of {TOPIC} is on {ids}, in rack {rack}, and in sync; groups work",
        (f"all is well, until rack {rack} is lost, and {TOPIC} with it",),
        partitions=where,
        details={"rack": rack, "brokers": ",".join(map(str, ids)), "megabytes": megabytes or 0},
    )
