"""A producer and a consumer of a group on one topic, with counts: what clients see of an incident and of its remedy.

Bounded in time and in number. At the end the log itself is read without a group, so that a group that cannot read is
not mistaken for records that are lost.
"""

import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.lab.clients.commits import name_for
from kfix.lab.definition.state import ids_by_rack, spread
from kfix.lab.nodes.handle import LabHandle
from kfix.lab.workload.tally import Counts, Tally

TOPIC = "workload"
_PARTITIONS = 3


@dataclass(frozen=True)
class WorkloadTarget:
    """The target of `kfix lab workload`: which group, and a topic, which is created if it is missing."""

    topic: str
    group: str | None


def target(
    lab: LabHandle, topic: str = TOPIC, group: str | None = None, offsets_partition: int | None = None
) -> WorkloadTarget:
    if group is not None and offsets_partition is not None:
        raise UsageError(
            "--group and --offsets-partition exclude each other", hint="the partition determines the group's name"
        )
    with lab.access() as access:
        if offsets_partition is not None:
            group = group_in(len(access.assignment(OFFSETS_TOPIC)), offsets_partition)
        if topic not in access.topics():
            ids = ids_by_rack(lab.state.brokers)
            access.create_topic(topic, spread(ids, _PARTITIONS, min(3, len(ids))), {})
    return WorkloadTarget(topic, group)


def group_in(partitions: int, wanted: int, stem: str = "workload") -> str:
    """Returns the name of a group that hashes to that partition of the offsets topic. Raises UsageError."""
    if partitions == 0:
        raise UsageError(
            f"{OFFSETS_TOPIC} does not exist yet", hint="kfix lab break healthy creates it; or use --group"
        )
    if not 0 <= wanted < partitions:
        raise UsageError(
            f"--offsets-partition {wanted}: {OFFSETS_TOPIC} has {partitions}", hint=f"0 to {partitions - 1}"
        )
    return name_for(wanted, partitions, stem)


ACKS = ("0", "1", "all")
MOST_MESSAGES = 1_000_000
_ANSWER_SECONDS = 10.0
_DRAIN_SECONDS = 10.0
_AUDIT_SECONDS = 20.0
_LEADER_MOVES = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
_QUIET: dict[str, Any] = {"log_level": 0, "topic.metadata.refresh.interval.ms": 2_000}


@dataclass(frozen=True)
class WorkloadPlan:
    bootstrap_servers: str
    topic: str
    group: str | None = None
    acks: str = "all"
    retries: int = 5
    rate: float = 50.0
    seconds: float = 30.0
    produce: bool = True
    consume: bool = True

    def __post_init__(self) -> None:
        if self.acks not in ACKS:
            raise UsageError(f"--acks {self.acks!r}: one of {', '.join(ACKS)}")
        if self.rate <= 0 or self.seconds <= 0 or self.retries < 0:
            raise UsageError("--rate and --seconds are above 0, --retries is not below 0")
        if self.rate * self.seconds > MOST_MESSAGES:
            raise UsageError(f"{self.rate * self.seconds:.0f} messages are too many", hint=f"at most {MOST_MESSAGES}")
        if not (self.produce or self.consume):
            raise UsageError(
                "a workload that neither produces nor consumes", hint="one of --produce-only, --consume-only"
            )
        if self.consume and not self.group:
            raise UsageError("a consumer needs a group", hint="--group G, or --offsets-partition N, or --produce-only")


class Workload:
    def __init__(self, plan: WorkloadPlan) -> None:
        self.plan = plan
        self._tally = Tally()
        self._run = secrets.token_hex(4)
        self._ends = 0.0
        self._stopping = threading.Event()
        self._produced = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._ends = time.monotonic() + self.plan.seconds
        if self.plan.consume:
            self._threads.append(threading.Thread(target=self._consume, name="workload-consumer", daemon=True))
        if self.plan.produce:
            self._threads.append(threading.Thread(target=self._produce, name="workload-producer", daemon=True))
        else:
            self._produced.set()
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def counts(self) -> Counts:
        return self._tally.counts()

    def acknowledged(self) -> dict[str, Any]:
        return {"topic": self.plan.topic, "run": self._run, "numbers": self._tally.acknowledged()}

    @property
    def last_received_age(self) -> float | None:
        return self.counts().last_received_age

    def wait(self) -> Counts:
        """Returns the counts when the workload's time is over and the log has been audited."""
        for thread in self._threads:
            thread.join()
        if self.plan.produce:
            self._audit()
        return self.counts()

    def stop(self) -> Counts:
        self._stopping.set()
        return self.wait()

    # --- threads --------------------------------------------------------------------------------------------------

    def _produce(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.plan.bootstrap_servers,
                "acks": self.plan.acks,
                "retries": self.plan.retries,
                "linger.ms": 0,
                "request.timeout.ms": 5_000,
                "message.timeout.ms": int(_ANSWER_SECONDS * 1000),
                **_QUIET,
            }
        )
        begun = time.monotonic()
        while time.monotonic() < self._ends and not self._stopping.is_set():
            number = self._tally.sending()
            self._send(producer, number)
            due = begun + number / self.plan.rate
            # `poll` returns with the first delivery report, long before its timeout.
            while (early := due - time.monotonic()) > 0 and not self._stopping.is_set():
                producer.poll(min(early, 0.2))
            producer.poll(0)
        producer.flush(_ANSWER_SECONDS + 1)
        self._produced.set()

    def _send(self, producer: Any, number: int) -> None:
        def answered(error: Any, _: Any) -> None:
            self._tally.answered(number, error.name() if error is not None else None)

        try:
            producer.produce(self.plan.topic, f"{self._run}:{number}".encode(), on_delivery=answered)
        except (BufferError, KafkaException) as problem:
            self._tally.answered(number, str(problem))

    def _consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.plan.bootstrap_servers,
                "group.id": self.plan.group,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 500,
                "session.timeout.ms": 6_000,
                "error_cb": lambda error: self._tally.trouble(error.name()),
                **_QUIET,
            }
        )
        consumer.subscribe([self.plan.topic])
        drain_until = None
        try:
            while not self._consumed_enough(drain_until):
                if drain_until is None and self._produced.is_set() and self._past_end():
                    drain_until = time.monotonic() + (_DRAIN_SECONDS if self.plan.produce else 0)
                message = consumer.poll(0.1)
                if message is not None:
                    self._take(message)
        finally:
            consumer.close()

    def _past_end(self) -> bool:
        return self._stopping.is_set() or time.monotonic() >= self._ends

    def _consumed_enough(self, drain_until: float | None) -> bool:
        if drain_until is None:
            return False
        return time.monotonic() > drain_until or (self.plan.produce and self._tally.all_received())

    def _take(self, message: Any) -> None:
        if message.error() is not None:
            if message.error().code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - so named by the library
                self._tally.trouble(message.error().name())
            return
        number = self._number(message.value())
        if number is not None:
            self._tally.received(number, message.partition(), message.offset())

    def _number(self, value: bytes | None) -> int | None:
        run, _, number = (value or b"").partition(b":")
        return int(number) if run == self._run.encode() and number.isdigit() else None

    # --- the end --------------------------------------------------------------------------------------------------

    def _audit(self) -> None:
        found: dict[int, set[tuple[int, int]]] = {}
        try:
            for message in whole_log(self.plan.bootstrap_servers, self.plan.topic):
                number = self._number(message.value())
                if number is not None:
                    found.setdefault(number, set()).add((message.partition(), message.offset()))
        except (KafkaException, LabError) as problem:
            # A log that cannot be read proves no loss: `lost` remains unknown.
            self._tally.trouble(f"the log could not be read to its end: {problem}")
            return
        self._tally.audited(found)


def _bounds(consumer: Consumer, tp: TopicPartition) -> tuple[int, int]:
    """Returns the first offset and the log end; while the leader moves, the client may ask the one before."""
    deadline = time.monotonic() + _AUDIT_SECONDS
    while True:
        try:
            return consumer.get_watermark_offsets(tp, timeout=5)
        except KafkaException as problem:
            if problem.args[0].code() not in _LEADER_MOVES or time.monotonic() > deadline:
                raise
        time.sleep(0.2)
        consumer.list_topics(tp.topic, timeout=10)


def whole_log(bootstrap_servers: str, topic: str) -> Iterator[Any]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "kfix-lab-audit", "enable.auto.commit": False, **_QUIET}
    )
    try:
        known = consumer.list_topics(topic, timeout=10).topics[topic]
        left = {}
        for number in known.partitions:
            low, high = _bounds(consumer, TopicPartition(topic, number))
            if high > low:
                left[number] = high
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        deadline = time.monotonic() + _AUDIT_SECONDS
        while left:
            if time.monotonic() > deadline:
                raise LabError(f"partitions {sorted(left)} of {topic} did not end in {_AUDIT_SECONDS:.0f} s")
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                yield message
                if (message.offset() or 0) + 1 >= left.get(message.partition(), 0):
                    left.pop(message.partition(), None)
    finally:
        consumer.close()
