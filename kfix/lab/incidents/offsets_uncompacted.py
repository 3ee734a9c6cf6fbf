"""No log cleaner compacts an offsets partition: it grows with every commit, and the next coordinator reads it all."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

#: The smallest segments that every line of Kafka permits in segment.bytes, and enough records for four of them.
_SEGMENT_BYTES, _COMMITS = 1 << 20, 50_000
#: The records have the times of these hours, in which a cleaner would have been there.
_HOURS = 2
_CLEANER = "log.cleaner.enable"


def _refuse(context: IncidentContext) -> None:
    set_to = {**DEFAULTS, **context.lab.state.spec.settings}[_CLEANER]
    context.require(set_to == "false", f"{_CLEANER} of the lab's brokers is false, as it is without --set")


@Incident(
    "offsets-uncompacted",
    title="the log cleaner does not compact an offsets partition",
    does="Sets small segments and writes 50,000 commits of one group, on brokers without a log cleaner.",
    expect=(
        "every coordinator responds, and every group works",
        "the next leader of the partition reads 50,000 records for 3 committed offsets",
    ),
    options={"partition": "which partition of the offsets topic is written to (0)"},
    refuse=_refuse,
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups, where = context.groups, context.offsets_partition()
    group = groups.by_partition[where.partition]
    context.set_config("topics", OFFSETS_TOPIC, {"segment.bytes": str(_SEGMENT_BYTES)})
    offsets = {TopicPartition(groups.topic, each): RECORDS // 2 for each in range(3)}
    size = context.write_commits(where, group, offsets, _COMMITS, _HOURS)
    context.require(size >= 3 * _SEGMENT_BYTES, f"{where} has three segments or more")
    context.report(f"wrote {_COMMITS} commits of {group} to {where}: {size} bytes in segments of {_SEGMENT_BYTES}")
    return IncidentOutcome(
        "all coordinators respond",
        group=group,
        partitions=[where],
        details={"bytes": size, "commits": _COMMITS},
    )
