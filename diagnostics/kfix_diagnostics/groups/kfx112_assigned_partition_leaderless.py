"""KFX112 assigned-partition-leaderless: a group reads partitions that have no leader.

Why it matters
    The group is stable, its other partitions are read and committed, and no client reports an error: only the records
    of these partitions never arrive, and their lag is unknown.

How kfix knows
    `kfix diagnose --group G` reads which partitions are assigned to the members of the group or have a committed
    offset, and finds some of them among the partitions without a leader. The finding of the partition itself (KFX101 to
    KFX107) has the cause and the remedies; this one is shown under it.

Remedies, safest first
    Apply the remedies of the partition's own finding. The consumers continue by themselves as soon as it has a leader.

Do not
    Do not reset the offsets of the group and do not restart its members: they are not the problem. Do not delete the
    partition or its topic.

Sources
    Metadata reports LEADER_NOT_AVAILABLE for such a partition. See docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.predicate import LEADERLESS
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import by_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import has, per_topic, several
from kfix_diagnostics._advice import diagnose_again
from kfix_diagnostics._evidence import rows_of, view_rows

_SHOWN = 3
#: The findings that say why a partition has no leader.
_CAUSES = ("KFX101", "KFX102", "KFX103", "KFX104", "KFX105", "KFX107")


@ClusterCheck(severity=Severity.CRITICAL, rows=LEADERLESS, scope=Scope.GROUP)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    leaderless = {row.tp for row in rows}
    for group, readings in by_group(case.snapshot.group_readings).items():
        mine = readings[-1].assigned | (readings[-1].partitions or {}).keys()
        if stuck := tuple(sorted(mine & leaderless)):
            yield _stuck(group, stuck, case)


def _stuck(group: str, tps: tuple[TopicPartition, ...], case: CaseFile) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"group {group}",
        summary=f"{several(len(tps), 'partition')} of group {group} {has(len(tps))} no leader, so the group gets no "
        f"records from {per_topic(tps)}, and no error",
        cause=Cause("no replica leads these partitions; the finding of each partition shows why", Confidence.CERTAIN),
        evidence=tuple(rows_of(case, tps[:_SHOWN], view_rows)),
        blocked=Blocked(groups=(group,)),
        remedies=(
            Remedy(
                "Restore a leader as the finding of the partition describes; then the consumers continue by themselves"
            ),
            diagnose_again(case, "See the finding of the partition"),
        ),
        never=("Do not reset the offsets of the group and do not restart its members: they are not the problem",),
        partitions=tps,
        follows_codes=_CAUSES,
    )
