"""Readings of group g2 on paper: a healthy one, and one for each way in which it hangs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kfix.core.snapshot.fleet_facts import Quota
from kfix.core.snapshot.group_reading import GroupMember, GroupPartition, GroupReading
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Endpoint, Snapshot, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog, TransactionState
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import base

ORDERS = tuple(TopicPartition("orders", number) for number in range(3))
AT_END = GroupPartition(20, 0, 0, 20, 20, "")
MEMBER = GroupMember("c1-uuid", "c1", "/10.0.0.7", "", ORDERS)


def reading(**changes: Any) -> GroupReading:
    """Returns a stable group with one member, no lag, and a coordinator on broker 2 that accepts connections."""
    healthy = GroupReading(
        "g2", NOW, 2, Endpoint("localhost", 9092), "", "Stable", "consumer", (MEMBER,), dict.fromkeys(ORDERS, AT_END)
    )
    return replace(healthy, **changes)


def read(*readings: GroupReading, **changes: Any) -> Snapshot:
    """Returns a healthy cluster with these readings, 10 s apart."""
    last = len(readings) - 1
    return base().snapshot(
        group_readings=tuple(replace(each, taken_at=NOW - 10 * (last - at)) for at, each in enumerate(readings)),
        **changes,
    )


def position(**changes: Any) -> dict[TopicPartition, GroupPartition]:
    """Returns the partitions of the group, the first of which is changed."""
    return dict.fromkeys(ORDERS, AT_END) | {ORDERS[0]: AT_END._replace(**changes)}


def held(since: float = 95, **changes: Any) -> GroupReading:
    """Returns a group that has read up to the last stable offset of orders-0, held since these seconds before NOW."""
    batch = OpenBatch(18, 4000, 3, int((NOW - since) * 1000))
    return reading(**{"partitions": position(committed=18, stable=18), "held": {ORDERS[0]: batch}, **changes})


def transaction_log(error: str = "", **changes: Any) -> TransactionLog:
    """Returns the log with the state of producer id 4000, or with `error` an empty one."""
    state = TransactionState("ledger", 4000, 3, 900_000, "Ongoing", int((NOW - 95) * 1000))
    return TransactionLog((), error) if error else TransactionLog((state._replace(**changes),))


def hanging(*records: tuple[str, int], since: float = 95, **log: Any) -> Snapshot:
    """Returns group g2 at a last stable offset whose transaction has ended: (status, partition or -1) in the log."""
    batch, at_ms = OpenBatch(18, 4000, 3, int((NOW - since) * 1000)), int((NOW - 90) * 1000)
    state = transaction_log().found[0]
    rows = tuple(
        state._replace(status=status, partitions=ORDERS[number : number + 1] if number >= 0 else (), updated_ms=at_ms)
        for status, number in records
    )
    known: dict[str, Any] = {"records": rows, "unread": False, "whole": frozenset({4000}), "held": {ORDERS[0]: batch}}
    return read(held(), transaction_log=TransactionLog(rows[-1:], **(known | log)))


def marker_lost() -> Snapshot:
    return hanging(("Ongoing", 0), ("PrepareCommit", 0), ("CompleteCommit", -1))


def open_transaction() -> Snapshot:
    return read(held(), held(), transaction_log=transaction_log())


def coordinator_unreachable() -> Snapshot:
    return read(reading(unconnected="connection refused, nothing listens there"))


def rebalance_held() -> Snapshot:
    """One member does not join again; the other has come since, so it cannot be the one."""
    new = GroupMember("c2-uuid", "c2", "/10.0.0.8", "", ())
    held = reading(state="PreparingRebalance", members=(MEMBER._replace(assigned=()),))
    return read(held, replace(held, members=(*(held.members or ()), new)))


def held_by_one_of(*members: GroupMember) -> Snapshot:
    """All of these members were in the group before, and one does not join again."""
    held = reading(state="PreparingRebalance", members=tuple(each._replace(assigned=()) for each in members))
    return read(held, held)


def reconciling(*, epoch: int = 3, **changes: Any) -> GroupReading:
    """Returns a group of the consumer protocol at epoch 4: one member keeps orders-1, which the other is to have."""
    kept, given = ORDERS[:2], ORDERS[:1]
    members = (
        MEMBER._replace(assigned=kept, target=given, epoch=epoch),
        GroupMember("c2-uuid", "c2", "/10.0.0.8", "", ORDERS[2:], ORDERS[1:], 4),
    )
    found: dict[str, Any] = {"state": "Reconciling", "members": members, "group_type": "consumer", "epoch": 4}
    return reading(**found | {"kind": ""} | changes)


def not_reconciled() -> Snapshot:
    return read(reconciling(), reconciling())


def share_group(**changes: Any) -> GroupReading:
    """Returns a share group whose two members read the same partitions."""
    members = tuple(GroupMember(f"s{n}-uuid", f"s{n}", "/10.0.0.9", "", ORDERS, None, 2) for n in (1, 2))
    return reading(**{"kind": "", "group_type": "share", "epoch": 2, "members": members, **changes})


def assigned_partition_leaderless() -> Snapshot:
    """Partition logs-0 of the group lost its only in-sync replica; everything else of the group works."""
    paper = base().topic("logs", 1, replicas=[[1, 2]])
    paper.part("logs", 0).isr = (1,)
    paper.kill(1)
    tp = TopicPartition("logs", 0)
    lost = GroupPartition(7, 0, -1, -1, -1, "not read")
    mine = reading(members=(MEMBER._replace(assigned=(*ORDERS, tp)),), partitions={**position(), tp: lost})
    return paper.snapshot(group_readings=(mine,))


#: Two members: one has orders-0 and orders-1, the other orders-2.
TWO = (MEMBER._replace(assigned=ORDERS[:2]), GroupMember("c2-uuid", "c2", "/10.0.0.8", "", ORDERS[2:]))
Positions = tuple[tuple[int, int], ...]


def paced(*moments: Positions, start: tuple[int, int] = (0, 0), **changes: Any) -> Snapshot:
    """Returns two readings of (committed, end) of the three partitions, 10 s apart; `start` is that of the logs."""
    return read(
        *(
            reading(
                partitions={
                    tp: GroupPartition(committed, 0, first, end, end, "")
                    for tp, (committed, end) in zip(ORDERS, moment, strict=True)
                },
                **{"members": TWO} | changes,
            )
            for moment, first in zip(moments, start, strict=True)
        )
    )


def stands_at_a_record() -> Snapshot:
    """The member that reads orders-1 fails at offset 33, and another process joins in its place each time."""
    first, last = (((90, 90), (33, 60), (70, 70)), ((120, 120), (33, 90), (100, 100)))
    found = paced(first, last)
    before, after = found.group_readings
    again = TWO[0]._replace(id="c1-uuid-2")
    return replace(found, group_readings=(before, replace(after, members=(again, TWO[1]))))


def remembered(seconds: float, before: Positions, now: Positions, **changes: Any) -> Snapshot:
    """Returns a plain snapshot, which knows the positions of an earlier one; the members of the group were not read."""
    was, last = (
        replace(each, members=None, endpoint=None, state="", coordinator=2)
        for each in paced(before, now).group_readings
    )
    was, last = replace(was, taken_at=NOW - seconds), replace(last, **changes)
    return base().snapshot(group_readings=(last,), memory=Memory(("g2",), positions=(was,)))


def restarted() -> Snapshot:
    """Another process has taken the place of the member with orders-0 and orders-1, and has not read yet."""
    before, after = paced(((90, 91), (60, 61), (70, 70)), ((90, 121), (60, 91), (100, 100))).group_readings
    again = TWO[0]._replace(id="c1-uuid-2")
    return base().snapshot(group_readings=(before, replace(after, members=(again, TWO[1]))))


#: 30 records a second arrive in each of three partitions, led by brokers 1 to 3, and almost none is read.
_SLOW: tuple[Positions, Positions] = (((9, 500), (9, 500), (9, 500)), ((19, 800), (9, 800), (9, 800)))

#: Nothing is committed between the readings.
STILL: tuple[Positions, Positions] = (((9, 500),) * 3, ((9, 800),) * 3)


def limited(rate: float, *, moments: tuple[Positions, Positions] = _SLOW, size: float = 500.0, **of: Any) -> Snapshot:
    """Returns a group whose client id c1 has this quota; `of` changes the entity of the quota."""
    quota = Quota(None, "c1", None, "consumer_byte_rate", rate)._replace(**of)
    found = paced(*moments, members=(MEMBER,))
    before, after = found.group_readings
    return replace(found, group_readings=(before, replace(after, quotas=(quota,), record_bytes=size)))
