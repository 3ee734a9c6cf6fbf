"""KFX809 records-lost: records of an earlier snapshot are no longer in any log.

Why it matters
    Nothing else shows it: leaders are elected, replicas are in sync, consumers read. Records below the high watermark
    were committed: they may have been acknowledged even with acks=all, and consumers may have read them. Consumer
    offsets may point beyond the end of the log, or at other records than before.

How kfix knows
    From an earlier snapshot. kfix remembers of each cluster which partitions lacked replicas, and who had every record
    of them: if another replica leads now, and none can have joined the ISR in between, the election was unclean.
    `--before FILE` compares with a saved snapshot: its leaders with their epochs, log ends and high watermarks. kfix
    asks the current leader where that epoch ended (OffsetForLeaderEpoch): records of the old leader beyond that offset
    are truncated when it returns. If no snapshot has the log end of the old leader, their number is unknown.

Remedies, safest first
    Copy the disk of an old leader that is still down, before anything else: it alone has the records, until it starts.
    `kfix inspect log-dir` reads the copy. Send again what producers still have; reset consumers whose offsets lie
    beyond the end. From now on use acks=all, min.insync.replicas=2 and no unclean elections.

Do not
    Do not start an old leader that is still down before its disk is copied: it truncates records that only it has.

Sources
    Kafka 2.7.1: ReplicaFetcherThread truncates to the leader's end of its epoch (KIP-101, KIP-279); reproduced on real
    brokers by a power failure and by an unclean election. See docs/facts/data-loss.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.derive.loss import Lost
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, are, brokers_named, per_topic, several, were
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG


@ClusterCheck(severity=Severity.CRITICAL, debounce=Debounce.NONE, scope=Scope.EARLIER)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for topic, found in sorted(grouped((lost.tp.topic, lost) for lost in case.lost_records).items()):
        yield _lost(case, topic, tuple(found))


def _lost(case: CaseFile, topic: str, found: tuple[Lost, ...]) -> Finding:
    records, committed = sum(each.records for each in found), sum(each.committed for each in found)
    holders = tuple(sorted({broker for each in found for broker in each.holders}))
    lacking = tuple(sorted({each.lacking for each in found if each.lacking >= 0}))
    return Finding(
        severity=Severity.CRITICAL if committed or (holders and lacking) else Severity.WARNING,
        obj=f"topic {topic}",
        summary=_summary(found, ago(case.taken_at - min(each.since for each in found))) + _only_copy(holders),
        cause=_cause(found, committed, lacking),
        evidence=tuple(_rows(found)),
        blocked=Blocked(
            f"no client; consumers of {topic} may be past the end of the log, or hold records that it lacks"
        ),
        remedies=(
            *_copies(holders),
            Remedy("Resend what the producers still have, and inform the owners of the consumers"),
            Remedy("From now on use acks=all, min.insync.replicas=2 and no unclean elections"),
        ),
        never=(_never(holders),),
        partitions=tuple(each.tp for each in found),
        facts={
            "lost": records,
            "committed": committed,
            "exact": all(each.exact for each in found),
            "holders": holders,
            "partitions": tuple(f"{each.tp}={each.records}" for each in found),
        },
        token=",".join(f"{each.tp}/{each.epoch}" for each in found),
    )


def _summary(found: tuple[Lost, ...], since: str) -> str:
    """Returns how much is lost; that it is unknown only if it is of all partitions."""
    records, committed = sum(each.records for each in found), sum(each.committed for each in found)
    tps, number = per_topic(each.tp for each in found), len(found)
    if not records:
        leaders = brokers_named(sorted({each.lacking for each in found if each.lacking >= 0})) or "another replica"
        return (
            f"{tps} {are(number)} led by {leaders}, not in sync in the snapshot {since} ago: records that were "
            "acknowledged may be lost, how many is unknown"
        )
    bound = "" if all(each.exact for each in found) else "at least "
    read = f"{committed} of which {were(committed)} committed" if committed else "none of which was committed"
    return f"{tps} lost {bound}{several(records, 'record')} since the snapshot {since} ago, {read}"


def _only_copy(holders: tuple[int, ...]) -> str:
    disk = "the disk" if len(holders) == 1 else "the disks"
    return f". Only {disk} of {brokers_named(holders)} can still have them" if holders else ""


def _copies(holders: tuple[int, ...]) -> Iterator[Remedy]:
    if holders:
        its = "its disk" if len(holders) == 1 else "their disks"
        text = "a start truncates the records that no other broker has"
        yield Remedy(f"Keep {brokers_named(holders)} down and copy {its}: {text}")
        yield Remedy("Read the copy: kfix inspect log-dir PATH...")


def _never(holders: tuple[int, ...]) -> str:
    if not holders:
        return NEVER_UNCLEAN_CONFIG
    disks = "its disk is" if len(holders) == 1 else "their disks are"
    return f"Do not start {brokers_named(holders)} before {disks} copied"


def _cause(found: tuple[Lost, ...], committed: int, lacking: tuple[int, ...]) -> Cause:
    if lacking:
        who, verb = brokers_named(lacking), were(len(lacking))
        sure = Confidence.CERTAIN if all(each.proven for each in found) else Confidence.LIKELY
        return Cause(f"{who} {verb} elected without being in sync: an unclean election", sure)
    if committed:
        return Cause("a replica that lacked committed records became leader: an unclean election")
    return Cause(
        "the leader went down with records that no replica had yet (a power failure, a kill), and another took over"
    )


def _rows(found: tuple[Lost, ...]) -> Iterator[Evidence]:
    for each in found[:10]:
        if not each.records:
            was = brokers_named(each.holders) if each.holders else f"broker {each.leader}"
            now = f"broker {each.lacking} leads, which was not" if each.lacking >= 0 else "another replica led since"
            yield Evidence(f"{each.tp}, then and now", f"in sync: {was}", now)
            continue
        yield Evidence(
            f"{each.tp}, then and now",
            f"epoch {each.epoch} of broker {each.leader}",
            f"had records up to {each.end + each.records - 1}, in today's log that epoch ends at {each.end}",
        )
