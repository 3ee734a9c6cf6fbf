"""Producers, consumers and the SCRAM user through confluent-kafka."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from kfix.core.errors import LabError
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


class RecordClient(ABC):
    """Writes and reads records as applications do, and the records that only coordinators write."""

    def __init__(self, addresses: Callable[[], Mapping[int, str]]) -> None:
        self.addresses = addresses  # read again each time: brokers may be added and removed while a connection is open

    @abstractmethod
    def live_ids(self) -> frozenset[int]:
        """Returns the brokers that are registered and, on KRaft, not fenced."""

    def admin(self) -> AdminClient:
        return AdminClient({**QUIET, "bootstrap.servers": self._bootstrap()})

    def _bootstrap(self) -> str:
        live = self.live_ids()
        return ",".join(address for broker, address in self.addresses().items() if broker in live)

    def _producer(self, config: Mapping[str, Any]) -> Producer:
        return Producer({"bootstrap.servers": self._bootstrap(), **config} | QUIET)

    def _consumer(self, group: str, config: Mapping[str, Any]) -> Consumer:
        return Consumer({"bootstrap.servers": self._bootstrap(), "group.id": group, **config} | QUIET)

    def produce(self, topic: str, records: Mapping[int, list[tuple[str, bytes]]], acks: str = "all") -> None:
        failures: list[str] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(str(error))

        # A batch that is larger than a segment is refused, and some topics have segments of one record.
        producer = self._producer({"acks": acks, "message.timeout.ms": 20_000, "batch.num.messages": 1})
        for partition, pairs in records.items():
            for key, value in pairs:
                producer.produce(topic, value, key, partition, on_delivery=delivered)
        left = producer.flush(25)
        if left or failures:
            raise LabError(
                f"{left + len(failures)} records to {topic} were not written: {failures[:1]}", hint="kfix lab status"
            )

    def produce_at(self, broker: int, where: Where, count: int, acks: str) -> int:
        """Writes to the leader that this broker names, as a client that reaches no other one; returns how many records
        were acknowledged. None is sent twice.
        """
        acknowledged: list[bool] = []
        config = {
            "bootstrap.servers": self.addresses()[broker],
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

    def produce_error(self, topic: str, partition: int, acks: str) -> str:
        """Returns the name of the error of a single record, or an empty text."""
        names: list[str] = []
        once = {"retries": 0, "message.timeout.ms": 6_000, "request.timeout.ms": 5_000}
        producer = self._producer({"acks": acks, **once})
        producer.produce(
            topic,
            b"probe",
            partition=partition,
            on_delivery=lambda error, _: names.append(error.name() if error else ""),
        )
        producer.flush(8)
        return names[0] if names else "_TIMED_OUT"

    def readable(self, topic: str, partition: int) -> bool:
        """Returns whether a consumer without a group gets a record from the start of the partition."""
        consumer = self._consumer("kfix-lab-reader", {"enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(topic, partition, 0)])
            message = consumer.poll(8)
            return message is not None and message.error() is None
        finally:
            consumer.close()

    def join_and_leave(self, group: str, topic: str) -> None:
        """Joins as a member of the classic protocol, commits and leaves. Raises LabError if it gets no record."""
        classic = {"group.protocol": "classic", "auto.offset.reset": "earliest"}
        consumer = self._consumer(group, {"enable.auto.commit": False, **classic})
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

    def transact(self, transactional_id: str, topic: str) -> None:
        """Commits one transaction with one record. Raises LabError if it fails."""
        with refused_as(f"the transaction of {transactional_id} failed"):
            producer = self._in_transaction(transactional_id)
            producer.produce(topic, b"transaction", transactional_id, 0)
            producer.commit_transaction(25)

    def begin_transaction(self, transactional_id: str, where: Where) -> Callable[[], None]:
        """Sends a record within a transaction. Returns what commits it; both raise LabError if they fail."""
        failed = f"the transaction of {transactional_id} failed"
        with refused_as(failed):
            producer = self._in_transaction(transactional_id, _LONG_TRANSACTION)
            producer.produce(where.topic, b"transaction", transactional_id, where.partition)
            producer.flush(10)

        def commit() -> None:
            with refused_as(failed):
                producer.commit_transaction(25)

        return commit

    def hang_transaction(self, transactional_id: str, where: Where, group: str = "", offset: int = 0) -> None:
        """Sends a record, and with `group` an offset of it, in a transaction, and leaves it open. Raises LabError."""
        consumer = self._consumer(group or transactional_id, {})
        try:
            with refused_as(f"the transaction of {transactional_id} failed"):
                producer = self._in_transaction(transactional_id, _LONG_TRANSACTION)
                producer.produce(where.topic, b"transaction", transactional_id, where.partition)
                if group:
                    pending = TopicPartition(where.topic, where.partition, offset)
                    producer.send_offsets_to_transaction([pending], consumer.consumer_group_metadata(), 25)
                producer.flush(10)
        finally:
            consumer.close()

    def _in_transaction(self, transactional_id: str, config: Mapping[str, int] | None = None) -> Producer:
        """Returns a producer that has begun a transaction."""
        producer = self._producer({"transactional.id": transactional_id, **(config or {})})
        producer.init_transactions(25)
        producer.begin_transaction()
        return producer

    def take_over(self, transactional_id: str) -> None:
        """Gets a producer id for the transactional id, which aborts its open transaction. Raises LabError."""
        with refused_as(f"{transactional_id} cannot be taken over"):
            self._producer({"transactional.id": transactional_id}).init_transactions(25)

    def write_internal(self, where: Where, rows: Iterable[tuple[bytes, bytes | None, int]]) -> None:
        """Writes records, (key, value, time in ms or 0 for now), to an internal topic, which brokers accept from
        this client id only. Raises LabError.
        """
        failures: list[str] = []
        # A coordinator writes small batches, too.
        config = {"acks": "all", "message.timeout.ms": 20_000, "batch.num.messages": 100}
        producer = self._producer({"client.id": "__admin_client", **config})
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
