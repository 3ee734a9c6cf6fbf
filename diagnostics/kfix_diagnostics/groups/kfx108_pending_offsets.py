"""KFX108 pending-offsets: a consumer group waits for a transaction that does not end.

Why it matters
    The group's consumers get no record and no error, not even from partitions whose offset is stable. Every coordinator
    is healthy, and other groups work, so it looks like an application fault.

How kfix knows
    A transactional producer writes offsets of a group into the group's offsets partition, and they count when its
    transaction ends. While one is open, the last stable offset of that partition is below its high watermark; kfix asks
    for both on every snapshot. Only then does it read the log from the last stable offset on, which names the groups,
    the partitions and the producer id, and asks the coordinator for their stable offsets: UNSTABLE_OFFSET_COMMIT (88)
    confirms that the group waits. A second snapshot must show the same transaction. Brokers before 2.5 cannot be asked.

Remedies, safest first
    Start the producer's application again with the same transactional.id, which aborts the transaction within a second.
    Or wait: the brokers abort it after its transaction.timeout.ms, which is 1 minute by default and at most
    transaction.max.timeout.ms, 15 minutes by default. The previous offset then counts again.

Do not
    Do not restart brokers and do not elect another leader: the transaction is in the log and stays open. Do not delete
    the group or reset its offsets: nothing is lost, and the position of the group counts again afterwards.

Sources
    Tried on 2.7.1 and 4.3.1. See docs/facts/consumer-groups.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.cluster.snapshot import NEWEST_PROTOCOL, LoggedGroup, OffsetsLog, OpenTransaction
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import some
from kfix_diagnostics._advice import cluster_options, servers
from kfix_diagnostics._evidence import log_source
from kfix_diagnostics._words import per_topic

CODE = "KFX108"
_SHOWN = 3
#: The first version whose brokers list transactions.
_LISTS_TRANSACTIONS = (3, 0)


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    found: dict[int, list[tuple[OffsetsLog, OpenTransaction]]] = {}
    for log in case.offsets_logs:
        for transaction in log.transactions:
            if _groups_waiting(log, transaction):
                found.setdefault(transaction.producer, []).append((log, transaction))
    for producer, parts in sorted(found.items()):
        yield _waiting(producer, parts, case)


def _waiting(producer: int, parts: list[tuple[OffsetsLog, OpenTransaction]], case: CaseFile) -> Finding:
    waiting = [(log, group) for log, transaction in parts for group in _groups_waiting(log, transaction)]
    groups = tuple(sorted(g.name for _, g in waiting))
    tps = tuple(sorted({tp for _, g in waiting for tp in g.pending or ()}))
    since = min(t.since_ms for _, t in parts)
    they = f"group {groups[0]} waits" if len(groups) == 1 else f"{len(groups)} groups wait"
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"producer id {producer}",
        summary=f"{they} for the transaction of producer id {producer} to end: until then the committed offsets of "
        f"{per_topic(tps)} are refused, and consumers get no record and no error",
        cause=Cause(
            "a transactional producer sent these offsets and has neither committed nor aborted since: it has died or "
            "hangs",
            Confidence.LIKELY,
        ),
        evidence=(
            *(_log_row(log, t, case) for log, t in parts[:_SHOWN]),
            *(_refusal(log, g) for log, g in waiting[:_SHOWN]),
        ),
        blocked=Blocked(groups=groups),
        remedies=tuple(_remedies(producer, groups[0], case)),
        never=(
            "Do not restart brokers and do not elect another leader: the transaction stays open",
            "Do not delete the group or reset its offsets: its position counts again when the transaction ends",
        ),
        partitions=tps,
        token=f"{since}",
    )


def _groups_waiting(log: OffsetsLog, transaction: OpenTransaction) -> list[LoggedGroup]:
    return [group for group in log.groups if group.name in transaction.groups and group.pending]


def _log_row(log: OffsetsLog, transaction: OpenTransaction, case: CaseFile) -> Evidence:
    return Evidence(
        log_source(log),
        f"open transaction of producer id {transaction.producer}",
        f"last stable offset {log.stable}, high watermark {log.log_end}, groups {some(transaction.groups, _SHOWN)}",
        case.taken_at - transaction.since_ms / 1000,
    )


def _refusal(log: OffsetsLog, group: LoggedGroup) -> Evidence:
    return Evidence(
        f"OffsetFetch at broker {log.broker}",
        f"group {group.name}",
        f"UNSTABLE_OFFSET_COMMIT for {some(tuple(map(str, group.pending or ())), _SHOWN)}",
    )


def _remedies(producer: int, group: str, case: CaseFile) -> Iterator[Remedy]:
    if case.kraft or _oldest_brokers(case) >= _LISTS_TRANSACTIONS:
        yield Remedy(
            f"Find the transactional.id of producer id {producer}",
            f"kafka-transactions.sh {servers(case)} list",
        )
    yield Remedy(
        "Start the producer's application again with the same transactional.id, which aborts the transaction within a "
        "second; a producer that is still alive is fenced"
    )
    yield Remedy(
        "Or wait until the brokers abort the transaction after its transaction.timeout.ms (15 minutes at most, unless "
        "transaction.max.timeout.ms was raised), and diagnose again",
        f"kfix diagnose {cluster_options(case)} --group {shlex.quote(group)}",
    )


def _oldest_brokers(case: CaseFile) -> tuple[int, int]:
    """Returns the version of the brokers with the oldest software; (0, 0) if none is known."""
    found = [v.partition("-")[0].split(".") for v in case.settings(NEWEST_PROTOCOL).values()]
    return min(((int(a), int(b)) for a, b, *_ in found if a.isdecimal() and b.isdecimal()), default=(0, 0))


CHECK = ClusterCheck(
    code=CODE,
    slug="pending-offsets",
    title="a group waits for a transaction that does not end",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
