"""Whether a quota explains that a group falls behind: more bytes arrive than it lets a client id fetch.

A quota counts per broker. That of a user counts before that of a client id, and no request shows the users of members,
so only the default of users is considered (docs/facts/consumer-groups.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kfix.core.derive.record import newest_partition
from kfix.core.snapshot.fleet_facts import CONSUMER_RATE, Quota
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.snapshot import BrokerView, TopicPartition
from kfix_diagnostics.groups._pace import Paces


class QuotaLimit(NamedTuple):
    """A client id may fetch less from this broker than arrives there for it, both in bytes per second; `tps` are its
    partitions on such brokers, which fall behind. `quota` is the one that counts.
    """

    client: str
    quota: Quota
    broker: int
    arriving: float
    tps: tuple[TopicPartition, ...]


def throttled(last: GroupReading, paces: Paces, views: Mapping[int, BrokerView]) -> QuotaLimit | None:
    """Returns the worst case of the group; None if no quota explains it, or the quotas or the records were not read."""
    found = list(_throttled(last, paces, views)) if last.quotas and last.record_bytes else []
    return max(found, key=lambda each: each.arriving / max(each.quota.value, 1.0), default=None)


def _throttled(last: GroupReading, paces: Paces, views: Mapping[int, BrokerView]) -> Iterator[QuotaLimit]:
    clients: dict[str, list[TopicPartition]] = {}
    for member in last.members or ():
        clients.setdefault(member.client, []).extend(tp for tp in member.assigned if tp in paces)
    for client, tps in clients.items():
        quota = quota_of(client, last.quotas or ())
        led: dict[int, list[TopicPartition]] = {}
        for tp in tps:
            found = newest_partition(tp, views)
            if found is not None and found.leader >= 0:
                led.setdefault(found.leader, []).append(tp)
        arriving = {b: last.record_bytes * sum(paces[tp].came for tp in own) for b, own in led.items()}
        over = [b for b in led if quota is not None and arriving[b] > quota.value]
        late = sorted(tp for b in over for tp in led[b] if paces[tp].stands or paces[tp].falls_behind)
        if quota is not None and late:
            worst = max(over, key=arriving.__getitem__)
            yield QuotaLimit(client, quota, worst, arriving[worst], tuple(late))


def quota_of(client: str, quotas: tuple[Quota, ...]) -> Quota | None:
    """Returns the quota of what this client id fetches, in Kafka's order; None if it has none."""
    known = {(each.user, each.client): each for each in quotas if each.key == CONSUMER_RATE and each.ip is None}
    order = (("", client), ("", ""), ("", None), (None, client), (None, ""))
    return next((known[each] for each in order if each in known), None)


def named(quota: Quota) -> str:
    """Returns `client id reports-a`, `every client id`, `every user`."""
    parts = (("user", quota.user), ("client id", quota.client))
    return " and ".join(f"{kind} {name}" if name else f"every {kind}" for kind, name in parts if name is not None)
