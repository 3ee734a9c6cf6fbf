"""KFX116 open-transaction: a transaction that does not end holds back the last stable offset.

Why it matters
    A consumer with isolation.level=read_committed gets no records beyond the last stable offset, and no error, although
    producers write and the lag grows. Every coordinator and every leader is healthy, so it looks like an application
    fault.

How kfix knows
    kfix asks the leaders for the high watermark and the last stable offset of each partition that a group has committed
    an offset for, of 500 groups and 5000 partitions at most, and of what is assigned to the group of `--group`. If the
    latter is lower, it reads the batch there, which names the producer id and its epoch, and searches the log of
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

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Blocked, Evidence, Finding, Severity
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupPartition, GroupReading, by_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.timing import TIMING
from kfix.core.wording import ago, per_topic, some
from kfix_diagnostics._transactions import TransactionHolder, age_of, cause_of, ending, hanging_in, holder, state_rows

_SHOWN = 5
_Held = dict[TopicPartition, tuple[GroupPartition, OpenBatch]]


class _Waiting(NamedTuple):
    """A group that reads partitions in which the same transaction was open in its last two readings."""

    before: GroupReading
    last: GroupReading
    held: _Held

    @property
    def name(self) -> str:
        return self.last.group

    @property
    def stopped_in(self) -> list[TopicPartition]:
        return [tp for tp, (each, _) in self.held.items() if each.committed in (-1, each.stable)]


@ClusterCheck(severity=Severity.CRITICAL, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    producers: dict[int, dict[str, _Waiting]] = {}
    hangs = hanging_in(case)
    for name, readings in by_group(case.snapshot.group_readings).items():
        if len(readings) < 2 or readings[-1].group_type == SHARE_GROUP:
            continue  # By default a share group reads uncommitted records (share.isolation.level).
        before, last = readings[-2:]
        for tp, found in _standing(before, last).items():
            if tp in hangs:
                continue  # KFX122 reports it.
            groups = producers.setdefault(found[1].producer, {})
            groups.setdefault(name, _Waiting(before, last, {})).held[tp] = found
    for groups in producers.values():
        batch = min((each for group in groups.values() for _, each in group.held.values()), key=lambda b: b.since_ms)
        who = holder(case, batch.producer, batch.epoch, batch.since_ms)
        if who.outlived or (who.since is not None and who.since > _patience(who, case)):
            yield _held(sorted(groups.values(), key=lambda each: not each.stopped_in), who, case)


def _patience(found: TransactionHolder, case: CaseFile) -> float:
    """Returns the age in seconds up to which it may end by itself; one that the operator raised counts in any case."""
    grace = case.criteria.transaction_grace
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


def _held(groups: Sequence[_Waiting], found: TransactionHolder, case: CaseFile) -> Finding:
    """`groups` has those first that have read all records up to the last stable offset."""
    held = {tp: each for group in groups for tp, each in group.held.items()}
    stopped = [group for group in groups if group.stopped_in]
    behind = per_topic(tuple(dict.fromkeys(tp for group in stopped for tp in group.stopped_in)) or tuple(held))
    later = groups[len(stopped) :]
    then = f"consumers of {_named(stopped or later)} with isolation.level=read_committed get no records beyond it"
    if later:
        then += f"; those of {_named(later)} once they get there" if stopped else " once they get there"
    first = groups[0].name
    return Finding(
        severity=Severity.CRITICAL if stopped else Severity.WARNING,
        obj=f"producer id {found.producer}",
        summary=f"the transaction of {found.called} has been open for {found.age} and holds back the last stable "
        f"offset of {behind}: {then}",
        cause=cause_of(found),
        evidence=(*_rows(groups, case), *state_rows(found)),
        blocked=Blocked("consumers with read_committed", tuple(group.name for group in groups)),
        remedies=tuple(ending(found, first, case, f"group={first}")),
        never=(
            "Do not restart brokers or elect another leader because of it: the transaction stays open",
            "Do not move a group past the transaction: it would skip records that may still be committed",
        ),
        partitions=tuple(held),
        facts={**found.facts, "group": first},
        follows=(f"KFX108:producer id {found.producer}",),
        token=",".join(f"{tp}:{batch.offset}:{batch.epoch}" for tp, (_, batch) in held.items()),
    )


def _named(groups: Sequence[_Waiting]) -> str:
    return f"{'group' if len(groups) == 1 else 'groups'} {some([group.name for group in groups])}"


def _rows(groups: Sequence[_Waiting], case: CaseFile) -> Iterator[Evidence]:
    """Yields the first partitions, each as the first group that waits in it was read."""
    shown = {tp: group for group in reversed(groups) for tp in group.held}
    for tp, group in sorted(shown.items(), key=lambda each: groups.index(each[1]))[:_SHOWN]:
        each, batch = group.held[tp]
        earlier = (group.before.partitions or {}).get(tp)
        moved = "" if earlier is None or earlier.end == each.end else f" (it was {earlier.end})"
        committed = "none" if each.committed < 0 else str(each.committed)
        yield Evidence(
            "ListOffsets with isolation 1 and 0",
            str(tp),
            f"last stable offset {each.stable}, twice in {ago(group.last.taken_at - group.before.taken_at)}; high "
            f"watermark {each.end}{moved}; committed offset {committed} (group {group.name})",
        )
        yield Evidence(
            f"Fetch of {tp}",
            f"batch at offset {batch.offset}",
            f"producer id {batch.producer} epoch {batch.epoch}",
            age_of(case, batch.since_ms),
        )
