"""KFX703 fleet-drift: a cluster has different broker settings from the other clusters with the same tag.

Why it matters
    People expect clusters of one kind to behave alike: what was tried on one is done on the next. A cluster with other
    settings behaves differently in an incident: it loses data that the others keep, or rejects what they accept.

How kfix knows
    The settings that most brokers of each cluster have, compared over all clusters that share a tag of the inventory.
    If more than half of them agree, the others are reported; if no value has the majority, all are.

Remedies, safest first
    Give it the settings of the other clusters by a rolling change, or another tag if it is meant to differ.

Do not
    Do not change settings of many clusters at once: one, then a day, then the next.

Sources
    Kafka: broker settings; kfix: the tags of the inventory.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.fleetcase import FleetCase, FleetCheck
from kfix.core.wording import several, some

#: What clusters of one kind share; sizes and paths are each cluster's own.
COMPARED = (
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "default.replication.factor",
    "delete.topic.enable",
    "inter.broker.protocol.version",
    "message.max.bytes",
    "min.insync.replicas",
    "offsets.retention.minutes",
    "offsets.topic.replication.factor",
    "replica.lag.time.max.ms",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "unclean.leader.election.enable",
    "zookeeper.session.timeout.ms",
)


@FleetCheck(prevention=True)
def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    listed = (name for name in sorted(case.digests) if name in case.entries)
    tags = grouped((tag, name) for name in listed for tag in case.entries[name].tags)
    for tag, names in sorted(tags.items()):
        if len(names) > 1:
            yield from _of(tag, names, case)


def _of(tag: str, names: list[str], case: FleetCase) -> Iterator[tuple[str, Finding]]:
    odd: dict[str, list[tuple[str, str, str]]] = {}
    for key in COMPARED:
        values = {n: case.digests[n].settings[key] for n in names if key in case.digests[n].settings}
        usual, how_many = _usual(values)
        for name, value in values.items():
            if value != usual and len(set(values.values())) > 1:
                others = (
                    f"{how_many} of {several(len(values), 'cluster')} have {usual}"
                    if usual
                    else f"the {len(values)} clusters do not agree"
                )
                odd.setdefault(name, []).append((key, value, others))
    for name, rows in odd.items():
        finding = Finding(
            obj=f"tag {tag}",
            summary=f"{several(len(rows), 'broker setting')} {'differs' if len(rows) == 1 else 'differ'} from the "
            f"clusters tagged {tag}: {some([key for key, _, _ in rows])}",
            cause=Cause("it was set up, or changed, separately"),
            evidence=tuple(Evidence("brokers", key, f"{value or 'empty'}; {others}") for key, value, others in rows),
            remedies=(Remedy("Give it the settings of the other clusters by a rolling change, or another tag"),),
            never=("Do not change many clusters at once",),
        )
        yield name, finding


def _usual(values: Mapping[str, str]) -> tuple[str, int]:
    """Returns (the value of more than half of them, how many have it); ("", 0) where there is none."""
    for value, n in Counter(values.values()).most_common(1):
        if 2 * n > len(values):
            return value, n
    return "", 0
