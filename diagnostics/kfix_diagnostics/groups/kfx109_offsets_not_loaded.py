"""KFX109 offsets-not-loaded: a coordinator does not serve offsets that the log of its partition holds.

Why it matters
    The group's consumers join, work and commit, but start where auto.offset.reset points: they read everything again,
    or skip what has arrived since. No client, no broker metric and no tool reports an error.

How kfix knows
    Up to Kafka 3.x, a coordinator that cannot read one record of its offsets partition drops everything that it loaded
    from it and serves the partition as if it were empty. Its groups are then missing from every list. kfix compares the
    partitions of the listed groups with those that have records, reads the end of the log only where no listed group is
    (the last 250 records at most), and asks the coordinator for the offsets that it finds there. A plain diagnosis does
    not notice a partition where groups have committed again since: `kfix diagnose --group G` always reads the log of
    the group's partition (the last 20 000 records at most).

Remedies, safest first
    Stop the group's consumers before they commit new positions. Save the offsets from the log with `kfix offsets save`;
    `kfix offsets restore` commits them again, so that the consumers continue where they were. That lasts only until the
    leadership moves or the broker restarts: while the record is there, the next leader drops the offsets again. The
    broker's log names the record. Remove it: write a tombstone for its key, let every replica compact it away, then
    move the leadership of the partition, so that the next leader loads it. The settings segment.ms=1000,
    min.cleanable.dirty.ratio=0.0, max.compaction.lag.ms=1000 and delete.retention.ms=0 on the topic make compaction
    quick; remove them afterwards.

Do not
    Do not restart the broker and do not move the leadership while the record is there: the next leader fails to load
    the partition as well, and drops the offsets that were committed since. Do not compact before the offsets are saved.

Sources
    Tried on 2.7.1; GroupMetadataManager.loadGroupsAndOffsets logs `Error loading offsets from`. Since 4.0, the
    coordinator answers NOT_COORDINATOR instead. See docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import LoggedGroup, OffsetsLog, TopicPartition
from kfix.core.wording import per_topic, several, some
from kfix_diagnostics._advice import cluster_options, diagnose_group, save_offsets
from kfix_diagnostics._bans import no_election, no_restart
from kfix_diagnostics._evidence import log_source

_SHOWN = 3


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    lacking = ((log, group) for log in case.offsets_logs for group in log.groups if group.unserved)
    found = grouped((log.broker, (log, group)) for log, group in lacking)
    for broker, parts in sorted(found.items()):
        yield _not_loaded(broker, parts, case)


def _not_loaded(broker: int, parts: list[tuple[OffsetsLog, LoggedGroup]], case: CaseFile) -> Finding:
    tps = tuple(sorted({TopicPartition(OFFSETS_TOPIC, log.partition) for log, _ in parts}))
    groups = tuple(sorted(g.name for _, g in parts))
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"coordinator on broker {broker}",
        summary=f"the coordinator on broker {broker} serves no committed offset of {several(len(groups), 'group')}, "
        f"although the log of {per_topic(tps)} holds them",
        cause=Cause(
            f"broker {broker} could not read a record when it loaded the partition, and dropped the offsets of all "
            "groups there"
        ),
        evidence=tuple(row for log, group in parts[:_SHOWN] for row in _rows(log, group)),
        blocked=Blocked("consumers of these groups lose their position: auto.offset.reset applies", groups),
        remedies=tuple(_remedies(broker, groups[0], tps, case)),
        never=(
            (
                f"Do not restart broker {broker} and do not move the leadership: the next leader cannot load the "
                "partition either, and drops the offsets that were committed since"
            ),
            "Do not let the consumers commit before the old offsets are saved: new commits replace them",
        ),
        forbids=(no_election(tps), no_restart([broker])),
        partitions=tps,
    )


def _rows(log: OffsetsLog, group: LoggedGroup) -> Iterator[Evidence]:
    yield Evidence(
        log_source(log),
        f"group {group.name}",
        f"offsets of {several(group.offsets, 'partition')} (records {log.first} to {log.end - 1} of {log.start} to "
        f"{log.log_end - 1})",
    )
    lacking = tuple(map(str, group.unserved or ()))
    yield Evidence(
        f"OffsetFetch at broker {log.broker}", f"group {group.name}", f"no offset of {some(lacking, _SHOWN)}"
    )


def _remedies(broker: int, group: str, tps: tuple[TopicPartition, ...], case: CaseFile) -> Iterator[Remedy]:
    yield Remedy("Stop the consumers of these groups before they commit new positions")
    save, file = save_offsets(case, tps)
    yield save
    yield Remedy(
        "Commit the saved offsets again (a gated runbook). Then start the consumers",
        f"kfix offsets restore {file} {cluster_options(case)}",
    )
    yield Remedy(
        f"Search the log of broker {broker} for `Error loading offsets from {tps[0]}`: the exception below it names "
        "the record. Write a tombstone for its key, wait until every replica has compacted it, then move the "
        "leadership",
        "kfix explain KFX109",
    )
    yield diagnose_group(case, group, "Diagnose again")
