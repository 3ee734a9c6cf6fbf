"""KFX116 open-transaction: a transaction that does not end holds back the last stable offset of a partition.

Why it matters
    A consumer with isolation.level=read_committed gets no records beyond the last stable offset, and no error, although
    producers write and the lag grows. Every coordinator and every leader is healthy, so it looks like an application
    fault.

How kfix knows
    kfix asks the leaders for the high watermark and the last stable offset of each partition that a group has committed
    an offset for, of 500 groups and 5000 partitions at most, and of what is assigned to the group of `--group`. Where
    the latter is lower, it reads the batch there, which names the producer id and its epoch, and searches the log of
    `__transaction_state` for the transactional.id, its timeout, and the state that the coordinator has. The same
    transaction must hold the same offset in two snapshots, and must be older than 60 s (`--transaction-grace`), or than
    half of its timeout if that is shorter: ordinary transactions last for less than a second, and the default timeout,
    60 s, ends any other. The age is by the clock of ZooKeeper or of the active KRaft controller if kfix knows it,
    otherwise by this host's clock; it is unknown if every clock puts the start in the future. A group with a committed
    offset above the last stable offset reads uncommitted records and does not wait.

Remedies, safest first
    Start the application with that transactional.id again, which aborts the transaction within a second. Or wait until
    its timeout has passed. If neither is possible, the runbook abort-transaction has the same effect as that start.

Do not
    Do not restart brokers and do not elect another leader: the transaction is in the log and stays open. Do not move
    the group past the open transaction: it would skip records that may still be committed.

Sources
    Tried on 2.7.1. See docs/facts/consumer-groups.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.checks import ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Blocked, Evidence, Finding, Severity
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupPartition, GroupReading, by_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.timing import TIMING
from kfix.core.wording import ago
from kfix_diagnostics._transactions import TransactionHolder, age_of, cause_of, ending, holder, state_rows
from kfix_diagnostics._words import per_topic

CODE = "KFX116"
_SHOWN = 5
_Held = dict[TopicPartition, tuple[GroupPartition, OpenBatch]]


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for readings in by_group(case.snapshot.group_readings).values():
        if len(readings) < 2 or readings[-1].group_type == SHARE_GROUP:
            continue  # By default a share group reads uncommitted records (share.isolation.level).
        producers: dict[int, _Held] = {}
        for tp, found in _standing(readings[-2], readings[-1]).items():
            producers.setdefault(found[1].producer, {})[tp] = found
        for held in producers.values():
            batch = min((each for _, each in held.values()), key=lambda each: each.since_ms)
            who = holder(case, batch.producer, batch.epoch, batch.since_ms)
            if who.outlived or (who.since is not None and who.since > _patience(who, case)):
                yield _held(readings[-2], readings[-1], held, who, case)


def _patience(found: TransactionHolder, case: CaseFile) -> float:
    """Returns the age in seconds up to which it may end by itself; one that the operator raised counts in any case."""
    grace = case.transaction_grace
    if grace > TIMING.transaction_grace or found.timeout is None:
        return grace
    return min(grace, found.timeout / 2)


def _standing(before: GroupReading, last: GroupReading) -> _Held:
    """Returns the partitions that the same transaction holds in both readings, and that the group waits in."""
    found: _Held = {}
    for tp, batch in sorted(last.held.items()):
        each = (last.partitions or {}).get(tp)
        if each is not None and not batch.error and before.held.get(tp) == batch and each.committed <= each.stable:
            found[tp] = each, batch
    return found


def _held(before: GroupReading, last: GroupReading, held: _Held, found: TransactionHolder, case: CaseFile) -> Finding:
    group, tps = last.group, tuple(held)
    waits = [tp for tp, (each, _) in held.items() if each.committed in (-1, each.stable)]
    behind = per_topic(waits or tps)
    then = f"consumers of group {group} with isolation.level=read_committed get no records beyond it"
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL if waits else Severity.WARNING,
        obj=f"producer id {found.producer}",
        summary=f"the transaction of {found.called} has been open for {found.age} and holds back the last stable "
        f"offset of {behind}: {then}{'' if waits else ' once they get there'}",
        cause=cause_of(found),
        evidence=(*_rows(before, last, held, case), *state_rows(found)),
        blocked=Blocked("consumers with read_committed", (group,)),
        remedies=tuple(ending(found, group, case, f"group={group}")),
        never=(
            "Do not restart brokers or elect another leader because of it: the transaction stays open",
            "Do not move the group past the transaction: it would skip records that may still be committed",
        ),
        partitions=tps,
        facts={**found.facts, "group": group},
        follows=(f"KFX108:producer id {found.producer}",),
        token=",".join(f"{tp}:{batch.offset}:{batch.epoch}" for tp, (_, batch) in held.items()),
    )


def _rows(before: GroupReading, last: GroupReading, held: _Held, case: CaseFile) -> Iterator[Evidence]:
    for tp, (each, batch) in list(held.items())[:_SHOWN]:
        earlier = (before.partitions or {}).get(tp)
        moved = "" if earlier is None or earlier.end == each.end else f" (it was {earlier.end})"
        committed = "none" if each.committed < 0 else str(each.committed)
        yield Evidence(
            "ListOffsets with isolation 1 and 0",
            str(tp),
            f"last stable offset {each.stable}, twice in {ago(last.taken_at - before.taken_at)}; high watermark "
            f"{each.end}{moved}; committed offset {committed}",
        )
        yield Evidence(
            f"Fetch of {tp}",
            f"batch at offset {batch.offset}",
            f"producer id {batch.producer} epoch {batch.epoch}",
            age_of(case, batch.since_ms),
        )


CHECK = ClusterCheck(
    code=CODE,
    slug="open-transaction",
    title="a transaction that does not end holds back the last stable offset",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.NONE,
)
