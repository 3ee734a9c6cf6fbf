"""KFX809 records-lost: records that a leader had in an earlier snapshot are in no log any more.

Why it matters
    Nothing else shows it: leaders are elected, replicas are in sync, consumers read. Records below the high watermark
    were committed: they may have been acknowledged even with acks=all, and consumers may have read them. Consumer
    offsets may point beyond the end of the log, or at other records than before.

How kfix knows
    `--before FILE`, a saved snapshot: its leaders with their epochs, log ends and high watermarks. kfix asks the
    current leader where that epoch ended (OffsetForLeaderEpoch): records of the old leader beyond that offset were
    truncated.

Remedies, safest first
    Send again what producers still have; reset consumers whose offsets lie beyond the end. The disk of the old leader
    holds the records only until it starts: `kfix inspect log-dir` reads it. From now on use acks=all,
    min.insync.replicas=2 and no unclean elections.

Do not
    Do not start an old leader that is still down before its disk is saved: it truncates records that only it has.

Sources
    Kafka 2.7.1: ReplicaFetcherThread truncates to the leader's end of its epoch (KIP-101, KIP-279); reproduced on real
    brokers by a power failure and by an unclean election. See docs/facts/data-loss.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows, Scope
from kfix.derive.loss import Lost
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import ago, several
from kfix_diagnostics._words import per_topic

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
    read = (
        f", {committed} of which {'was' if committed == 1 else 'were'} committed"
        if committed
        else ", none of which was committed"
    )
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL if committed else Severity.WARNING,
        obj=f"topic {topic}",
        summary=f"{per_topic(each.tp for each in found)} lost {bound}{several(records, 'record')} since the snapshot "
        f"{since} ago{read}",
        cause=_cause(committed),
        evidence=tuple(_rows(found)),
        blocked=Blocked(
            f"no client; consumers of {topic} may be past the end of the log, or hold records that it lacks"
        ),
        remedies=(
            Remedy("Resend what the producers still have, and inform the owners of the consumers"),
            Remedy("Read the disk of an old leader that has not started yet: kfix inspect log-dir PATH..."),
            Remedy("From now on use acks=all, min.insync.replicas=2 and no unclean elections"),
        ),
        never=("Do not start an old leader that is still down before its disk is saved",),
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
        "the leader went down with records that no replica had yet (a power failure, a kill), and another took over",
        Confidence.LIKELY,
    )


def _rows(found: tuple[Lost, ...]) -> Iterator[Evidence]:
    for each in found[:10]:
        yield Evidence(
            f"{each.tp}, then and now",
            f"epoch {each.epoch} of broker {each.leader}",
            f"had records up to {each.end + each.records - 1}, in today's log that epoch ends at {each.end}",
        )


CHECK = ClusterCheck(
    code=CODE,
    slug="records-lost",
    title="records of an earlier snapshot are no longer in any log",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.NONE,
    scope=Scope.EARLIER,
)
