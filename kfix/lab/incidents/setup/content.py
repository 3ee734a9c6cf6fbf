"""The records of an incident's topics: small ones, and random bytes where a reassignment has to take time."""

import json
import secrets

from kfix.core.snapshot.snapshot import TopicPartition

CONTENT_TOPIC = "orders"
#: The topic that most incidents break, and its first partition.
TOPIC = "ledger"
FIRST = TopicPartition(TOPIC, 0)
RECORDS = 20
MEGABYTE = 1_000_000

_BACKLOG_RECORD_BYTES = 200_000
_BULK_RECORD_BYTES = 40_000


def records(topic: str, partition: int) -> list[tuple[str, bytes]]:
    singular = topic.removesuffix("s")
    return [
        (
            f"{singular}-{partition}-{number}",
            json.dumps({singular: number, "amount": 10 + number, "currency": "EUR"}).encode(),
        )
        for number in range(RECORDS)
    ]


def backlog(count: int) -> list[tuple[str, bytes]]:
    """Returns records of random bytes, which compression does not shrink."""
    return [(f"backlog-{each}", secrets.token_bytes(_BACKLOG_RECORD_BYTES)) for each in range(count)]


def bulk(size: int) -> list[tuple[str, bytes]]:
    """Returns records of random bytes, `size` bytes in all."""
    return [
        (f"bulk-{at // _BULK_RECORD_BYTES}", secrets.token_bytes(min(_BULK_RECORD_BYTES, size - at)))
        for at in range(0, size, _BULK_RECORD_BYTES)
    ]
