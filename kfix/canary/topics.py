"""The topic of a canary: created on request, and deleted by the run that created it."""

import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.canary.librdkafka import Settings, client
from kfix.core.errors import UnreachableError

_SETTINGS: Final = {"retention.ms": "3600000"}
_AGAIN: Final = 0.5


def create_topic(settings: Settings, name: str, assignment: Sequence[Sequence[int]], within: float) -> None:
    """Raises UnreachableError if it cannot be created."""
    rows = [list(each) for each in assignment]
    topic = NewTopic(name, num_partitions=len(rows), replica_assignment=rows, config=dict(_SETTINGS))
    admin = client(AdminClient, settings)  # must outlive its futures
    ends = time.monotonic() + within
    while True:
        try:
            admin.create_topics([topic], operation_timeout=within)[name].result()
        except KafkaException as failed:
            error = failed.args[0]
            # The controller has a deleted topic for a moment longer than the brokers.
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS and time.monotonic() < ends:
                time.sleep(_AGAIN)
                continue
            hint = "docs/canary.md lists the rights"
            raise UnreachableError(f"topic {name} cannot be created: {error.str()}", hint=hint) from None
        return


def delete_topic(settings: Settings, name: str, within: float) -> str:
    """Returns why it cannot be deleted, "" if it is."""
    admin = client(AdminClient, settings)
    try:
        admin.delete_topics([name], operation_timeout=within)[name].result()
    except KafkaException as failed:
        gone = failed.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        return "" if gone else str(failed.args[0].str())
    return ""
