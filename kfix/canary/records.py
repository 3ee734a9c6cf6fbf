"""One record through each leader, by a producer and a consumer that stay open."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ClientPartition

from kfix.canary.librdkafka import Settings, client
from kfix.canary.model import LeaderTry
from kfix.core.snapshot.snapshot import TopicPartition

_PAUSE: Final = 0.02


@dataclass
class _Sent:
    """One record on its way; `acknowledged` once a leader has it, `read` once the consumer has it, by the clock."""

    at: float
    value: bytes
    acknowledged: float = 0.0
    read: float = 0.0
    error: str = ""

    def over(self, *, reads: bool) -> bool:
        return bool(self.error or (self.read if reads else self.acknowledged))


@dataclass
class RecordTrips:
    """Raises UsageError if librdkafka refuses the settings. `reads`: also with a consumer."""

    settings: Settings
    within: float
    reads: bool
    group: str
    _producer: Any = field(init=False)
    _consumer: Any = field(init=False, default=None)
    _trouble: str = field(init=False, default="")
    _sent: dict[TopicPartition, _Sent] = field(init=False, default_factory=dict)
    _assigned: set[TopicPartition] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        own = self.settings | {"error_cb": self._note}
        producing = {"acks": "all", "linger.ms": 0, "message.timeout.ms": int(self.within * 1000)}
        self._producer = client(Producer, own | producing)
        if self.reads:
            # A short wait: a leader that is read for the first time is asked within it.
            reading = {"enable.auto.commit": False, "fetch.wait.max.ms": 100, "auto.offset.reset": "earliest"}
            self._consumer = client(Consumer, own | {"group.id": self.group} | reading)

    def _note(self, error: Any) -> None:
        self._trouble = str(error.str())

    def exchange(self, leaders: Mapping[TopicPartition, int], mark: str) -> tuple[LeaderTry, ...]:
        """Sends one record with this mark through each leader, and waits until all have come back, or for `within`."""
        self._sent = {}
        for tp in leaders:
            self._sent[tp] = sent = _Sent(time.monotonic(), f"{mark} {tp}".encode())
            delivered = partial(self._delivered, tp, sent)
            self._producer.produce(tp.topic, sent.value, b"kfix-canary", tp.partition, on_delivery=delivered)
        ends = time.monotonic() + self.within
        while time.monotonic() < ends and not all(each.over(reads=self.reads) for each in self._sent.values()):
            self._serve()
        return tuple(self._try(tp, leader) for tp, leader in leaders.items())

    def close(self) -> None:
        """Ends both clients, so that neither asks for a topic that is deleted afterwards."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
        # What is delivered from now on finds no consumer.
        self._producer.purge()
        self._producer.flush(1)
        del self._producer

    def _serve(self) -> None:
        if self._consumer is None:
            self._producer.poll(_PAUSE)
            return
        self._producer.poll(0)
        message = self._consumer.poll(_PAUSE)
        if message is None:
            return
        where = TopicPartition(message.topic(), message.partition()) if message.topic() else None
        sent = None if where is None else self._sent.get(where)
        if message.error() is not None:
            for each in self._sent.values() if sent is None else (sent,):
                each.error = each.error or str(message.error().str())
        elif sent is not None and message.value() == sent.value:
            sent.read = time.monotonic()

    def _delivered(self, tp: TopicPartition, sent: _Sent, error: Any, message: Any) -> None:
        if error is not None:
            sent.error = str(error.str())
            return
        sent.acknowledged = time.monotonic()
        if self._consumer is not None and tp not in self._assigned:
            self._assigned.add(tp)
            with contextlib.suppress(KafkaException):
                self._consumer.incremental_assign([ClientPartition(tp.topic, tp.partition, message.offset())])

    def _try(self, tp: TopicPartition, leader: int) -> LeaderTry:
        sent = self._sent[tp]
        if sent.over(reads=self.reads) and not sent.error:
            return LeaderTry(leader, tp, (sent.read or sent.acknowledged) - sent.at)
        what = "acknowledged and not read" if sent.acknowledged else "not acknowledged"
        error = sent.error or f"{what} in {self.within:g} s"
        return LeaderTry(leader, tp, error=f"{error} ({self._trouble})" if self._trouble else error)
