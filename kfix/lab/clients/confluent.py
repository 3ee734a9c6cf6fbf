"""Producers, consumers and the SCRAM user through confluent-kafka."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from kfix.core.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.core.snapshot.snapshot import TopicPartition as Where

QUIET: dict[str, str | int | float | bool] = {"log_level": 0, "socket.timeout.ms": 10_000}
#: The default of transaction.max.timeout.ms, the longest that a broker accepts.
_LONG_TRANSACTION = {"transaction.timeout.ms": 900_000}
_ITERATIONS = 4096  # the minimum of Kafka


@contextmanager
def refused_as(what: str) -> Iterator[None]:
    """Raises LabError with `what` and the client library's reason, if the library raises its own error."""
    try:
        yield
    except KafkaException as problem:
        raise LabError(f"{what}: {problem.args[0].str()}") from problem


def produce(bootstrap: str, topic: str, records: Mapping[int, list[tuple[str, bytes]]], acks: str = "all") -> None:
    failures: list[str] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(str(error))

    # A batch that is larger than a segment is refused, and some topics have segments of one record.
    config = {"bootstrap.servers": bootstrap, "acks": acks, "message.timeout.ms": 20_000, "batch.num.messages": 1}
    producer = Producer(config | QUIET)
    for partition, pairs in records.items():
        for key, value in pairs:
            producer.produce(topic, value, key, partition, on_delivery=delivered)
    left = producer.flush(25)
    if left or failures:
        raise LabError(
            f"{left + len(failures)} records to {topic} were not written: {failures[:1]}", hint="kfix lab status"
        )


def produce_at(address: str, where: Where, count: int, acks: str) -> int:
    """Returns how many of `count` records the leader that this broker names has acknowledged; none is sent twice."""
    acknowledged: list[bool] = []
    config = {
        "bootstrap.servers": address,
        "acks": acks,
        "retries": 0,
        "message.timeout.ms": 4_000,
        "request.timeout.ms": 3_000,
        # Other brokers name another leader.
        "topic.metadata.refresh.interval.ms": -1,
    }
    producer = Producer(config | QUIET)
    for number in range(count):
        producer.produce(
            where.topic,
            f"{where}-{number}".encode(),
            partition=where.partition,
            on_delivery=lambda error, _: acknowledged.append(error is None),
        )
    producer.flush(8)
    return sum(acknowledged)


def produce_error(bootstrap: str, topic: str, partition: int, acks: str) -> str:
    """Returns the name of the error of a single record, or an empty text."""
    names: list[str] = []
    config = {
        "bootstrap.servers": bootstrap,
        "acks": acks,
        "retries": 0,
        "message.timeout.ms": 6_000,
        "request.timeout.ms": 5_000,
    }
    producer = Producer(config | QUIET)
    producer.produce(
        topic,
        b"probe",
        partition=partition,
        on_delivery=lambda error, _: names.append(error.name() if error else ""),
    )
    producer.flush(8)
    return names[0] if names else "_TIMED_OUT"


def readable(bootstrap: str, topic: str, partition: int) -> bool:
    """Returns whether a consumer without a group gets a record from the start of the partition."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "kfix-lab-reader", "enable.auto.commit": False} | QUIET
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        message = consumer.poll(8)
        return message is not None and message.error() is None
    finally:
        consumer.close()


def join_and_leave(bootstrap: str, group: str, topic: str) -> None:
    """A member of the classic protocol joins the group, commits and leaves. Raises LabError if it gets no record."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
        | {"group.protocol": "classic", "auto.offset.reset": "earliest"}
        | QUIET
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(20)
        if message is None or message.error() is not None:
            raise LabError(f"a member of group {group} got no record of {topic}", hint="kfix lab status")
        consumer.commit(message=message, asynchronous=False)
    except KafkaException as problem:
        raise LabError(f"a member of group {group} failed: {problem.args[0].str()}") from problem
    finally:
        consumer.close()


def transact(bootstrap: str, transactional_id: str, topic: str) -> None:
    """Commits one transaction with one record. Raises LabError if it fails."""
    with refused_as(f"the transaction of {transactional_id} failed"):
        producer = _in_transaction(bootstrap, transactional_id)
        producer.produce(topic, b"transaction", transactional_id, 0)
        producer.commit_transaction(25)


def begin_transaction(bootstrap: str, transactional_id: str, where: Where) -> Callable[[], None]:
    """Sends a record within a transaction. Returns what commits it; both raise LabError if they fail."""
    failed = f"the transaction of {transactional_id} failed"
    with refused_as(failed):
        producer = _in_transaction(bootstrap, transactional_id, _LONG_TRANSACTION)
        producer.produce(where.topic, b"transaction", transactional_id, where.partition)
        producer.flush(10)

    def commit() -> None:
        with refused_as(failed):
            producer.commit_transaction(25)

    return commit


def hang_transaction(bootstrap: str, transactional_id: str, where: Where, group: str = "", offset: int = 0) -> None:
    """Sends a record, and with `group` an offset of it, within a transaction, and leaves it open. Raises LabError."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group or transactional_id} | QUIET)
    try:
        with refused_as(f"the transaction of {transactional_id} failed"):
            producer = _in_transaction(bootstrap, transactional_id, _LONG_TRANSACTION)
            producer.produce(where.topic, b"transaction", transactional_id, where.partition)
            if group:
                pending = TopicPartition(where.topic, where.partition, offset)
                producer.send_offsets_to_transaction([pending], consumer.consumer_group_metadata(), 25)
            producer.flush(10)
    finally:
        consumer.close()


def _in_transaction(bootstrap: str, transactional_id: str, config: Mapping[str, int] | None = None) -> Producer:
    """Returns a producer that has begun a transaction."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, **(config or {})} | QUIET
    )
    producer.init_transactions(25)
    producer.begin_transaction()
    return producer


def take_over(bootstrap: str, transactional_id: str) -> None:
    """Gets a producer id for the transactional id, which aborts its open transaction. Raises LabError if it fails."""
    with refused_as(f"{transactional_id} cannot be taken over"):
        Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id} | QUIET).init_transactions(25)


def write_internal(bootstrap: str, where: Where, key: bytes, value: bytes | None) -> None:
    """Writes a record to an internal topic, which brokers accept from this client id only. Raises LabError."""
    write_internal_rows(bootstrap, where, [(key, value, 0)])


def write_internal_rows(bootstrap: str, where: Where, rows: Iterable[tuple[bytes, bytes | None, int]]) -> None:
    """Writes records, (key, value, time in ms or 0 for now), to an internal topic. Raises LabError."""
    failures: list[str] = []
    config = {
        "bootstrap.servers": bootstrap,
        "client.id": "__admin_client",
        "acks": "all",
        "message.timeout.ms": 20_000,
        # A coordinator writes small batches, too.
        "batch.num.messages": 100,
    }
    producer = Producer(config | QUIET)
    for key, value, at_ms in rows:
        producer.produce(
            where.topic,
            value,
            key,
            where.partition,
            on_delivery=lambda error, _: failures.append(str(error)) if error is not None else None,
            timestamp=at_ms,
        )
    if producer.flush(25) or failures:
        raise LabError(f"a record of {where} was not written: {failures[:1]}")


def create_scram(admin: AdminClient, user: str, password: str) -> None:
    with refused_as("the SCRAM user cannot be created"):
        # KRaft refuses a request with two changes of one user.
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            change: UserScramCredentialAlteration = UserScramCredentialUpsertion(
                user, ScramCredentialInfo(kind, _ITERATIONS), password.encode()
            )
            admin.alter_user_scram_credentials([change], request_timeout=10)[user].result()
