"""A producer and the consumers of a group that does not keep up, as a process of its own.

`python -X kfix.lab.id=ID -m kfix.lab.workload.readers BOOTSTRAP TOPIC GROUP CAUSE`; `CAUSES` says what each cause does.
It runs until it is ended, or for `_SECONDS`.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kfix.lab.workload.background import next_number, spawn_workload

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from kfix.lab.nodes.handle import LabHandle

PARTITIONS: Final = 4
_RATE = 30  # records a second of each partition
_SECONDS = 600.0
_COMMIT_SECONDS = 0.5
#: At this offset of partition 1 is a record that ends its consumer, after it has worked for a moment.
FAILS_AT: Final = 33
_WORKS_SECONDS = 2.0


@dataclass(frozen=True)
class ReadersPlan:
    """`delays`: the seconds that each member needs for a record. `hot`: how many times the records partition 0 gets.
    `size`: the least bytes of a record.
    """

    does: str
    delays: tuple[float, ...] = (0.0, 0.0)
    hot: int = 1
    fails: bool = False
    stops: bool = False
    deletes: bool = False
    size: int = 0


CAUSES: Final = {
    "record": ReadersPlan("one record ends its consumer each time", fails=True),
    "member": ReadersPlan("one of two members needs 0.2 s for a record", (0.0, 0.2)),
    "hot": ReadersPlan("one partition gets ten times the records of the others", (0.01,) * PARTITIONS, hot=10),
    "capacity": ReadersPlan("both members need 0.1 s for a record", (0.1, 0.1)),
    "stopped": ReadersPlan("the members have stopped, and records still arrive", stops=True),
    "retention": ReadersPlan("records are deleted faster than two slow members read them", (0.05, 0.05), deletes=True),
}
#: The only member of a group whose client id gets a quota, and its plan.
LIMITED_CLIENT, LIMITED = "reader-a", "limited"
_PLANS: Final = {**CAUSES, LIMITED: ReadersPlan("one member reads records of 500 bytes", (0.0,), size=500)}


def start_readers(lab: LabHandle, topic: str, group: str, cause: str) -> int:
    """Starts the process and returns its number among the workloads."""
    number = next_number(lab)
    spawn_workload(lab, number, "kfix.lab.workload.readers", lab.bootstrap_servers, topic, group, cause)
    return number


class RecordFailsError(Exception):
    """A record that its consumer cannot process."""


@dataclass(frozen=True)
class Readers:
    bootstrap: str
    topic: str
    group: str
    cause: ReadersPlan
    until: float

    def run(self) -> None:
        reading = [threading.Thread(target=self._member, args=each) for each in enumerate(self.cause.delays)]
        for thread in (*reading, threading.Thread(target=self._produce)):
            thread.start()

    def _produce(self) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415 - not needed to start the process
        from confluent_kafka import TopicPartition as Where  # noqa: PLC0415
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415

        producer = Producer({"bootstrap.servers": self.bootstrap})
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        number, began = 0, time.monotonic()
        while time.monotonic() < self.until:
            for partition in range(PARTITIONS):
                for _ in range(_RATE // 10 * (self.cause.hot if partition == 0 else 1)):
                    producer.produce(self.topic, f"{number}".zfill(self.cause.size), partition=partition)
                    number += 1
            producer.poll(0)
            # A little faster than the members read: the start of the log reaches them after two minutes.
            if self.cause.deletes and (start := int((time.monotonic() - began - 12) * 11)) > 0:
                admin.delete_records([Where(self.topic, partition, start) for partition in range(PARTITIONS)])
            time.sleep(0.1)

    def _member(self, number: int, delay: float) -> None:
        from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 - not needed to start the process

        until = time.monotonic() + 5 if self.cause.stops else self.until
        while time.monotonic() < until:
            consumer = Consumer(
                {
                    "bootstrap.servers": self.bootstrap,
                    "client.id": f"reader-{'abcdefgh'[number]}",
                    "group.id": self.group,
                    "session.timeout.ms": 6000,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                }
            )
            try:
                consumer.subscribe([self.topic])
                self._read(consumer, delay, until)
            except (RecordFailsError, KafkaException):
                time.sleep(0.5)
            finally:
                consumer.close()

    def _read(self, consumer: Consumer, delay: float, until: float) -> None:
        """Reads and commits. Raises RecordFailsError at the record that fails, once it has worked for a moment."""
        committed = time.monotonic()
        fails_at = float("inf")
        done: dict[int, Any] = {}
        while time.monotonic() < until:
            for message in consumer.consume(10, 0.1):
                partition, offset = message.partition() or 0, message.offset() or 0
                if message.error() is not None:
                    continue
                if self.cause.fails and partition == 1 and offset == FAILS_AT:
                    fails_at = time.monotonic() + _WORKS_SECONDS
                if partition == 1 and fails_at < float("inf"):
                    continue
                time.sleep(delay)
                done[partition] = message
            if done and time.monotonic() - committed > _COMMIT_SECONDS:
                for message in done.values():
                    consumer.commit(message=message, asynchronous=False)
                committed, done = time.monotonic(), {}
            if time.monotonic() > fails_at:
                raise RecordFailsError


if __name__ == "__main__":
    servers, topic, group, cause = sys.argv[1:5]
    Readers(servers, topic, group, _PLANS[cause], time.monotonic() + _SECONDS).run()
