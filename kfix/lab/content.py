"""What the topics of an incident hold: plain records of a shop."""

from __future__ import annotations

import json

CONTENT_TOPIC = "orders"
RECORDS = 20


def records(topic: str, partition: int) -> list[tuple[str, bytes]]:
    singular = topic.removesuffix("s")
    return [
        (
            f"{singular}-{partition}-{number}",
            json.dumps({singular: number, "amount": 10 + number, "currency": "EUR"}).encode(),
        )
        for number in range(RECORDS)
    ]
