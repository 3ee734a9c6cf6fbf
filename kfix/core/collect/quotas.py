"""Which quotas may hold back the consumers of a group that does not catch up, and how large its records are.

The answers of a broker show no throttle of another client, and describe no user of a group's members: a quota of their
user, which counts before that of a client id, stays unknown (docs/facts/consumer-groups.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kfix.core.collect.tasks import Brokers, by_broker
from kfix.core.errors import UnreachableError
from kfix.core.kafka import access_messages, requests
from kfix.core.kafka.access_messages import DEFAULT, EXACT, QuotaPart
from kfix.core.kafka.batches import batches_in
from kfix.core.kafka.codes import name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.fleet_facts import CONSUMER_RATE, Quota
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupReading
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: Most client ids of a group that are asked about, and most partitions of which records are measured.
MOST_CLIENTS, MOST_MEASURED = 20, 5
_MEASURED_BYTES = 16 << 10
QuotasOf = Callable[[tuple[str, ...]], Sequence[Quota]]


def does_not_catch_up(reading: GroupReading, before: GroupReading | None) -> bool:
    """Returns whether members read the group, and its lag is not below that of an earlier snapshot."""
    if before is None or reading.group_type == SHARE_GROUP or not reading.members:
        return False
    return before.lag is not None and 0 < (reading.lag or 0) >= before.lag


def with_quotas(
    brokers: Brokers, reading: GroupReading, leaders: Mapping[TopicPartition, int], ask: QuotasOf, principal: str
) -> GroupReading:
    """Returns the reading with the quotas of its members' client ids; an error is part of the reading."""
    clients = tuple(sorted({member.client for member in reading.members or ()}))[:MOST_CLIENTS]
    found, error = brokers.once("group quotas", lambda: tuple(ask(clients)))
    if found is None:
        error = with_right(error, access_messages.DESCRIBE_CLIENT_QUOTAS, principal)
        return replace(reading, errors={**reading.errors, "group quotas": error})
    limits = any(each.key == CONSUMER_RATE for each in found)
    size = _record_bytes(brokers, reading, leaders) if limits else 0.0
    return replace(reading, quotas=found, record_bytes=size)


def quotas_by_broker(brokers: Brokers, clients: tuple[str, ...]) -> tuple[Quota, ...]:
    """Asks one broker after the other, until one has answered. Raises UnreachableError if none does."""
    parts = [*(QuotaPart("client-id", EXACT, each) for each in clients)]
    parts += [QuotaPart("client-id", DEFAULT), QuotaPart("user", DEFAULT)]
    last = UnreachableError("no broker responds to kfix")
    for line in brokers.lines.values():
        try:
            answers = line.call_many([access_messages.describe_quotas((each,)) for each in parts], brokers.deadline)
        except UnreachableError as error:
            last = error
            continue
        if bad := next((error for error, _ in answers if error), 0):
            raise UnreachableError(name_of(bad))
        found = {quota for _, quotas in answers for quota in quotas}
        # A quota of a user and a client id together counts for that user only, who is unknown here.
        return tuple(sorted((each for each in found if not (each.user and each.client)), key=repr))
    raise last


def _record_bytes(brokers: Brokers, reading: GroupReading, leaders: Mapping[TopicPartition, int]) -> float:
    """Returns how many bytes a record of the group needs on the wire, by what it reads next; 0.0 if unknown."""
    partitions = reading.partitions or {}
    behind = sorted((tp for tp, each in partitions.items() if each.lag), key=lambda tp: -(partitions[tp].lag or 0))
    led = by_broker((leaders[tp], tp) for tp in behind[:MOST_MEASURED] if tp in leaders)
    asked = {b: {tp: partitions[tp].committed for tp in tps} for b, tps in led.items()}
    sizes = brokers.each("record sizes broker", asked, partial(_ask_sizes)).found
    total, count = (sum(each) for each in zip((0, 0), *sizes.values(), strict=True))
    return total / count if count else 0.0


def _ask_sizes(line: BrokerConnection, asked: Mapping[TopicPartition, int], deadline: Deadline) -> tuple[int, int]:
    """Returns the bytes and the records of the batches at these offsets."""
    fetches = [requests.fetch(tp, offset, _MEASURED_BYTES) for tp, offset in asked.items()]
    batches = [each for answer in line.call_many(fetches, deadline) for each, _ in batches_in(answer.batches)]
    return sum(each.size for each in batches), sum(each.records or 0 for each in batches)
