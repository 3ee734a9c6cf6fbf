"""KFX610 one-coordinator: one broker coordinates all consumer groups.

Why it matters
    The leader of an offsets partition is the coordinator of the groups that hash to it. If one broker leads all of
    them, its death or a long pause blocks every consumer of the cluster at once, and the next coordinator must load all
    offsets before any group can continue.

How kfix knows
    All partitions of __consumer_offsets (at least 2) are led by the same broker while others are alive. Judged only
    while every broker is present and none has just started.

Remedies, safest first
    If other brokers are preferred: return the leadership to them. If the topic has too few replicas: raise the
    replication factor, with the preferred leaders rotated (KFX303). Otherwise use another order of the replicas.

Do not
    Do not delete the topic to have it spread again: it holds all committed offsets. Do not change its number of
    partitions: groups would look for their offsets in another partition.

Sources
    Kafka: a group belongs to partition abs(hash(group.id)) mod N; the leader of that partition is its coordinator. See
    docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy
from kfix.core.wording import brokers_named, ids
from kfix_diagnostics._advice import move_replicas, runbook
from kfix_diagnostics.prevention._prevention import OTHER_LEADERS, tps_of


@RiskOfCluster(rows="offsets and not deleting")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    live = case.live or frozenset()
    if len(live) < 2 or not case.steady:
        return
    leaders = {row.leader for row in rows}
    if len(rows) > 1 and len(leaders) == 1 and leaders <= live:
        yield _all(rows, case)


def _all(rows: Rows, case: CaseFile) -> Finding:
    leader = rows[0].leader
    preferred = sorted({row.preferred for row in rows})
    groups = sum(map(len, case.groups.values()))
    return Finding(
        obj=f"topic {OFFSETS_TOPIC}",
        summary=f"broker {leader} coordinates every consumer group ({groups} known by name): it leads all {len(rows)} "
        f"partitions of {OFFSETS_TOPIC}",
        cause=Cause("all of them have the same first replica", Confidence.CERTAIN)
        if len(preferred) == 1
        else Cause("it took over, and the leadership was not returned"),
        evidence=(
            Evidence("brokers", f"leader of {OFFSETS_TOPIC}", f"{leader} for all {len(rows)} partitions"),
            Evidence("assignment", f"preferred leaders of {OFFSETS_TOPIC}", ids(preferred)),
        ),
        remedies=(_remedy(rows, preferred, case),),
        never=(
            "Do not delete the topic to have it spread again: it holds all committed offsets",
            "Do not change its number of partitions: groups would look for their offsets in another partition",
        ),
        partitions=tps_of(rows),
        follows=(f"KFX303:topic {OFFSETS_TOPIC}",),
    )


def _remedy(rows: Rows, preferred: list[int], case: CaseFile) -> Remedy:
    if any(row.preferred != row.leader and row.preferred_in_live_isr for row in rows):
        return runbook(
            case, "leader-balance", f"Return the leadership to the preferred leaders, {brokers_named(preferred)}"
        )
    factor = min(row.n_replicas for row in rows)
    if factor < rows[0].advised_rf:
        return runbook(
            case,
            "raise-offsets-rf",
            f"Raise the replication factor to {rows[0].advised_rf} with the preferred leaders rotated",
            f"rf={rows[0].advised_rf}",
        )
    return move_replicas(case, OTHER_LEADERS)
