"""KFX809 records-lost: records that a leader had in an earlier look are in no log any more.

Why it matters
    Nothing else shows it: leaders lead, replicas are in sync, consumers read on. What was committed (below the high
    watermark) may have been acknowledged even with acks=all, and consumers may have read it: they hold what the log
    no longer has. Consumer offsets may point beyond the log, or at other records than before.

How kfix knows
    `--before FILE`, a look that was saved: its leaders with their epochs, log ends and high watermarks. Today's leader
    is asked where that epoch ended (OffsetForLeaderEpoch): what the old leader had beyond it was cut off.

What helps
    Send again what producers still have; reset consumers whose offsets lie beyond the end. The old leader's disk holds
    the records only until it starts: `kfix inspect log-dir` reads it. From now on: acks=all, min.insync.replicas=2 and
    no unclean elections.

What not to do
    Do not start an old leader that is still down before its disk is saved: it cuts off what only it has.

Sources
    Kafka 2.7.1: ReplicaFetcherThread truncates to the leader's end of its epoch (KIP-101, KIP-279); seen on real
    brokers for a power failure (D1) and an unclean election (D2).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.loss import Lost
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._words import ago, count, per_topic

CODE = "KFX809"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    by_topic: dict[str, list[Lost]] = {}
    for lost in case.lost_records:
        by_topic.setdefault(lost.tp.topic, []).append(lost)
    for topic, found in sorted(by_topic.items()):
        yield _lost(case, topic, tuple(found))


def _lost(case: CaseFile, topic: str, found: tuple[Lost, ...]) -> Finding:
    records, committed = sum(each.records for each in found), sum(each.committed for each in found)
    bound = "" if all(each.exact for each in found) else "at least "
    since = ago(case.taken_at - min(each.since for each in found))
    read = f", {committed} of them committed" if committed else ", none of them committed"
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL if committed else Severity.WARNING,
        obj=f"topic {topic}",
        summary=f"{per_topic(each.tp for each in found)}: {bound}{count(records, 'record')} lost since the look "
        f"{since} ago{read}",
        cause=_cause(committed),
        evidence=tuple(_rows(found)),
        blocked=Blocked(f"nobody is blocked; consumers of {topic} may be past the end, or hold what the log lacks"),
        remedies=(
            Remedy("send again what the producers still have, and tell the consumers"),
            Remedy("what is on the disk of an old leader that has not started yet: kfix inspect log-dir PATH..."),
            Remedy("from now on: acks=all, min.insync.replicas=2, no unclean elections"),
        ),
        never=("do not start an old leader that is still down before its disk is saved",),
        partitions=tuple(each.tp for each in found),
        facts={
            "lost": records,
            "committed": committed,
            "exact": all(each.exact for each in found),
            "partitions": tuple(f"{each.tp}={each.records}" for each in found),
        },
        token=",".join(f"{each.tp}/{each.epoch}" for each in found),
    )


def _cause(committed: int) -> Cause:
    if committed:
        return Cause("a replica that lacked committed records became leader: an unclean election", Confidence.LIKELY)
    return Cause(
        "the leader went down with records that no replica had yet (a power failure, a kill); another took over",
        Confidence.LIKELY,
    )


def _rows(found: tuple[Lost, ...]) -> Iterator[Evidence]:
    for each in found[:10]:
        yield Evidence(
            f"{each.tp}, then and now",
            f"epoch {each.epoch} of broker {each.leader}",
            f"had records up to {each.end + each.records - 1}, the log of today ends that epoch at {each.end}",
        )


CHECK = ClusterCheck(
    code=CODE,
    slug="records-lost",
    title="records of an earlier look are in no log any more",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.NONE,
)
