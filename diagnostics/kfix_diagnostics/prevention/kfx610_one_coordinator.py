"""KFX610 one-coordinator: one broker coordinates all consumer groups.

Why it matters
    The leader of an offsets partition is the coordinator of the groups that hash to it. Where one broker leads all of
    them, its death or a long pause stops every consumer of the cluster at once, and the next one must load all offsets
    before any group goes on.

How kfix knows
    All partitions of __consumer_offsets (at least 2) are led by the same broker while others are alive. Judged only
    while every broker is there and none has just come.

What helps
    Where other brokers are preferred: give them the leadership back. Where the topic has too few replicas: raise the
    replication factor, with the preferred leaders rotated (KFX303). Else another order of the replicas.

What not to do
    Do not delete the topic to have it spread anew: all committed offsets are in there. Do not change its number of
    partitions: groups would look for their offsets in another one.

Sources
    Kafka: a group belongs to partition abs(hash(group.id)) mod N; the leader of that partition is its coordinator.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import runbook, servers
from kfix_diagnostics._words import ids
from kfix_diagnostics.prevention._prevention import tps_of

CODE = "KFX610"


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
        code=CODE,
        severity=Severity.WARNING,
        obj=f"topic {OFFSETS_TOPIC}",
        summary=f"broker {leader} leads all {len(rows)} partitions of {OFFSETS_TOPIC}: it coordinates every group, "
        f"{groups} of them known by name",
        cause=Cause("all of them have the same first replica", Confidence.CERTAIN)
        if len(preferred) == 1
        else Cause("it took over, and nothing gave the leadership back", Confidence.LIKELY),
        evidence=(
            Evidence("brokers", f"leader of {OFFSETS_TOPIC}", f"{leader} for all {len(rows)} partitions"),
            Evidence("assignment", f"preferred leaders of {OFFSETS_TOPIC}", ids(preferred)),
        ),
        remedies=(_remedy(rows, preferred, case),),
        never=(
            "do not delete the topic to have it spread anew: all committed offsets are in there",
            "do not change its number of partitions: groups would look for their offsets in another one",
        ),
        partitions=tps_of(rows),
        follows=(f"KFX303:topic {OFFSETS_TOPIC}",),
    )


def _remedy(rows: Rows, preferred: list[int], case: CaseFile) -> Remedy:
    if any(row.preferred != row.leader and row.preferred_in_live_isr for row in rows):
        return runbook(case, "leader-balance", f"give them back to their preferred leaders, brokers {ids(preferred)}")
    factor = min(row.n_replicas for row in rows)
    if factor < rows[0].advised_rf:
        return runbook(
            case,
            "raise-offsets-rf",
            f"raise the replication factor to {rows[0].advised_rf}, preferred leaders rotated",
            f"rf={rows[0].advised_rf}",
        )
    return Remedy(
        "put other replicas first in the assignments, so that others are preferred: no data is copied",
        f"kfix runbook apply move-replicas --json-in FILE --bootstrap-server {servers(case)}",
        "move-replicas",
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="one-coordinator",
    title="one broker coordinates all consumer groups",
    severity=Severity.WARNING,
    check=check,
    rows="offsets and not deleting",
    debounce=Debounce.NONE,
    prevention=True,
)
