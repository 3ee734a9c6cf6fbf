"""KFX108 pending-offsets: a group waits for a transaction that does not end.

Why it matters
    The group's consumers get neither records nor an error, not even from partitions whose offset is stable. Every
    coordinator is healthy, and other groups work, so it looks like an application fault.

How kfix knows
    A transactional producer writes offsets of a group into the group's offsets partition, and they count when its
    transaction ends. While one is open, the last stable offset of that partition is below its high watermark; kfix asks
    for both on every snapshot. Only then does it read the log from the last stable offset on, which names the groups,
    the partitions and the producer id, and asks the coordinator for their stable offsets: UNSTABLE_OFFSET_COMMIT (88)
    confirms that the group waits. A second snapshot must show the same transaction. Brokers before 2.5 cannot be asked.
    The log of `__transaction_state` names the transactional.id of the producer id, and its timeout.

Remedies, safest first
    Start the producer's application again with the same transactional.id, which aborts the transaction within a second.
    Or wait: the brokers abort it after its transaction.timeout.ms, which is 1 minute by default and at most
    transaction.max.timeout.ms, 15 minutes by default. The previous offset is then valid again. If neither is possible,
    the runbook abort-transaction has the same effect as that start.

Do not
    Do not restart brokers and do not elect another leader: the transaction is in the log and stays open. Do not delete
    the group or reset its offsets: nothing is lost, and the position of the group is valid again afterwards.

Sources
    Tried on 2.7.1 and 4.3.1. See docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Evidence, Finding, Severity
from kfix.core.snapshot.snapshot import LoggedGroup, OffsetsLog, OpenTransaction
from kfix.core.wording import per_topic, some
from kfix_diagnostics._evidence import log_source
from kfix_diagnostics._transactions import age_of, cause_of, ending, holder, state_rows

_SHOWN = 3


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    every = ((log, transaction) for log in case.offsets_logs for transaction in log.transactions)
    found = grouped((part[1].producer, part) for part in every if _groups_waiting(*part))
    for producer, parts in sorted(found.items()):
        yield _waiting(producer, parts, case)


def _waiting(producer: int, parts: list[tuple[OffsetsLog, OpenTransaction]], case: CaseFile) -> Finding:
    waiting = [(log, group) for log, transaction in parts for group in _groups_waiting(log, transaction)]
    groups = tuple(sorted(g.name for _, g in waiting))
    tps = tuple(sorted({tp for _, g in waiting for tp in g.pending or ()}))
    since = min(t.since_ms for _, t in parts)
    found = holder(case, producer, -1, since)
    named = f"{found.called} (producer id {producer})" if found.state is not None else found.called
    they = f"group {groups[0]} waits" if len(groups) == 1 else f"{len(groups)} groups wait"
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"producer id {producer}",
        summary=f"{they} for the transaction of {named} to end: until then the committed offsets of "
        f"{per_topic(tps)} are refused, and consumers get neither records nor an error",
        cause=cause_of(found),
        evidence=(
            *(_log_row(log, t, case) for log, t in parts[:_SHOWN]),
            *(_refusal(log, g) for log, g in waiting[:_SHOWN]),
            *state_rows(found),
        ),
        blocked=Blocked(groups=groups),
        remedies=tuple(ending(found, groups[0], case)),
        never=(
            "Do not restart brokers or elect another leader because of it: the transaction stays open",
            (
                "Do not delete the group or reset its offsets: its committed position is valid again once the "
                "transaction ends"
            ),
        ),
        partitions=tps,
        facts={**found.facts, "group": groups[0]},
        follows=(f"KFX122:producer id {producer}",),
        token=f"{since}",
    )


def _groups_waiting(log: OffsetsLog, transaction: OpenTransaction) -> list[LoggedGroup]:
    return [group for group in log.groups if group.name in transaction.groups and group.pending]


def _log_row(log: OffsetsLog, transaction: OpenTransaction, case: CaseFile) -> Evidence:
    return Evidence(
        log_source(log),
        f"open transaction of producer id {transaction.producer}",
        f"last stable offset {log.stable}, high watermark {log.log_end}, groups {some(transaction.groups, _SHOWN)}",
        age_of(case, transaction.since_ms),
    )


def _refusal(log: OffsetsLog, group: LoggedGroup) -> Evidence:
    return Evidence(
        f"OffsetFetch at broker {log.broker}",
        f"group {group.name}",
        f"UNSTABLE_OFFSET_COMMIT for {some(tuple(map(str, group.pending or ())), _SHOWN)}",
    )
