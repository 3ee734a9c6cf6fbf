"""KFX406 log-dir-failed: a log directory of a live broker failed, so its replicas there are offline.

Why it matters
    The broker stays registered, leads the partitions of its other log directories and looks alive. What it held in the
    failed directory is offline: those replicas can neither lead nor follow. A partition whose only in-sync replica was
    there has no leader, and no election helps, since no replica that may lead is online.

How kfix knows
    The brokers with the newest metadata report a replica as offline (`offline_replicas`), although they list its broker
    as alive. If kfix asked the broker for the log end of that replica, the answer is KAFKA_STORAGE_ERROR. A broker that
    shuts down looks the same for some seconds: a replica whose log end it reports counts as online, and so do those of
    a broker all of whose replicas are offline, unless a partition has no leader. A broker whose last log directory
    fails ends by itself.

Remedies, safest first
    Repair the disk, then restart the broker: it reads its log directories only when it starts. If the failed directory
    has the only in-sync replica of a partition, the old data must be there again; elsewhere an empty disk serves as
    well, since the replicas are copied from their leaders.

Do not
    Do not restart the broker with an empty disk while it has the only in-sync replica of a partition: an empty replica
    is elected, and the others truncate to it. Do not elect a leader meanwhile, and do not have another controller
    elected: no in-sync replica is online. Do not reassign a partition without a leader: the reassignment hangs.

Sources
    Kafka 2.7.1: LogDirFailureChannel, KafkaController.processLogDirEventNotification; Kafka 4.3.1:
    ReplicationControlManager.handleDirectoriesOffline (KIP-112, KIP-858). See docs/facts/metadata.md.
"""

from collections.abc import Iterator, Sequence

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, has, per_topic, topics
from kfix_diagnostics._advice import blocked, diagnose_again, start
from kfix_diagnostics._bans import no_election, no_move_of, restart, starts
from kfix_diagnostics._evidence import assignment_row, live_row, state_row, view_rows
from kfix_diagnostics._failed_dirs import STORAGE_ERROR, waits_for_disk

_SHOWN = 3


@ClusterCheck(severity=Severity.CRITICAL, rows="n_failed_replicas > 0 and not deleting")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    found = grouped((broker, row.tp) for row in rows for broker in case.failed_replicas(row.tp))
    waiting = {row.tp for row in rows if row.leaderless and waits_for_disk(row.tp, case)}
    for broker, tps in sorted(found.items()):
        down = [tp for tp in tps if tp in waiting]
        refused = [tp for tp in tps if case.log_end_error(tp, broker) == STORAGE_ERROR]
        # Of a broker that shuts down, all replicas are offline.
        if down or refused or len(tps) < case.holds.get(broker, 0):
            yield _failed(broker, tps, down, refused, case)


def _failed(
    broker: int,
    tps: Sequence[TopicPartition],
    down: Sequence[TopicPartition],
    refused: Sequence[TopicPartition],
    case: CaseFile,
) -> Finding:
    offline = f"{per_topic(tps)} {has(topics(tps))} an offline replica there"
    stuck = f". {per_topic(down)} {has(topics(down))} no leader: no in-sync replica is online" if down else ""
    shown = (*down, *(tp for tp in tps if tp not in down))[:_SHOWN]
    return Finding(
        severity=Severity.CRITICAL if down else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"a log directory of broker {broker} failed, although the broker is alive: {offline}{stuck}",
        cause=_cause(broker, len(tps), case, certain=bool(refused)),
        evidence=(
            *(row for tp in shown for row in _rows(tp, broker, case)),
            *live_row(case),
        ),
        blocked=blocked(case, down) if down else Blocked(),
        remedies=tuple(_remedies(broker, down, case)),
        never=tuple(_never(broker, down)),
        forbids=(no_election(down), no_move_of(down)) if down else (),
        partitions=tuple(tps),
        facts={"broker": broker, "offline": len(tps), "leaderless": len(down)},
    )


def _cause(broker: int, offline: int, case: CaseFile, *, certain: bool) -> Cause:
    text = f"the disk of a log directory of broker {broker} failed, is full, or was unmounted"
    if certain:
        return Cause(text, Confidence.CERTAIN)
    whole = offline >= case.holds.get(broker, 0)
    return Cause(f"{text}; or the broker is shutting down" if whole else text)


def _rows(tp: TopicPartition, broker: int, case: CaseFile) -> Iterator[Evidence]:
    reporting = [b for b, view in case.views_of(tp).items() if broker in view.offline]
    yield Evidence(brokers_named(reporting), f"offline replicas of {tp}", f"{broker}, which is alive")
    error = case.log_end_error(tp, broker)
    if error:
        yield Evidence(f"broker {broker}", f"log end of {tp}", error)
    yield from state_row(case, tp)
    yield from view_rows(case, tp)
    yield from assignment_row(case, tp)


def _remedies(broker: int, down: Sequence[TopicPartition], case: CaseFile) -> Iterator[Remedy]:
    find = f"the log of broker {broker} names the directory (LogDirFailureChannel)"
    if not down:
        yield restart(
            f"Repair or replace the disk, then restart broker {broker}: {find}, and its replicas are copied from their "
            "leaders",
            broker,
        )
        yield diagnose_again(case, "Diagnose again")
        return
    others = sorted({b for tp in down for b in case.isr(tp) if b in case.dead})
    if others:
        text = f"{start(others, case)}: {'it is' if len(others) == 1 else 'they are'} in sync, too"
        yield starts(Remedy(text), others)
    yield restart(
        f"Repair the disk with its old data, then restart broker {broker}: {find}. {per_topic(down)} "
        f"{has(len(down))} a leader again then, and no record is lost",
        broker,
    )
    yield diagnose_again(case, "Diagnose again")
    yield Remedy(
        f"Only if the disk cannot be repaired: copy what is readable of it, stop broker {broker} and diagnose "
        "again, which shows what an unclean election would lose"
    )


def _never(broker: int, down: Sequence[TopicPartition]) -> Iterator[str]:
    if not down:
        yield "Do not format or replace a disk that has the last readable copy of a partition"
        return
    them = per_topic(down)
    yield (
        f"Do not restart broker {broker} with an empty disk in place of the failed one: its empty replica of {them} is "
        "elected, and the others truncate to it"
    )
    yield f"Do not elect a leader of {them}, nor another controller for that: no in-sync replica is online"
    yield f"Do not reassign {them}: without a leader, the reassignment hangs"
