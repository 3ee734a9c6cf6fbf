"""Fills a lab with empty topics, so that anyone can repeat the figures for 10 000 partitions and more."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.core.errors import LabError, UnreachableError, UsageError
from kfix.core.kafka import requests
from kfix.lab.clients.asking import ask
from kfix.lab.clients.confluent import QUIET
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.nodes.handle import LabHandle
from kfix.lab.waiting import wait_for

_BATCH = 500
#: Heap of a broker in KB for each replica, beside a fixed share (seen on 2.7.1: 520 to 840 MB with 10 000 replicas).
_HEAP_KB_A_REPLICA = 40
_HEAP_MB = 160
#: Below this number, the default session timeout of a lab holds while the brokers are busy.
_BUSY = 5_000
_LONG_SESSION_MS = 30_000
_SECONDS_A_THOUSAND = 20.0


def grow(lab: LabHandle, partitions: int, replicas: int, width: int, progress: Callable[[str], None]) -> int:
    """Creates topics until every broker lists at least `partitions` partitions. Returns how many were created.

    Raises UsageError if the heap of the brokers or their session timeout is too small for so many partitions, and
    LabError if the brokers do not list them in time.
    """
    brokers = len(lab.broker_ids)
    if not 1 <= replicas <= brokers:
        raise UsageError(f"--rf {replicas}: the lab has {brokers} brokers", hint=f"give 1 to {brokers}")
    have = _listed(lab, lab.broker_ids[0])
    if have is None:
        raise LabError(f"broker {lab.broker_ids[0]} does not respond", hint="kfix lab status")
    missing, created = partitions - sum(have.values()), 0
    _require_room(lab, have, missing, replicas)
    admin = AdminClient({**QUIET, "bootstrap.servers": lab.bootstrap_servers})
    topics = _names(have, missing, width)
    while batch := dict(islice(topics, max(1, _BATCH // width))):
        _create(admin, batch, replicas)
        created += sum(batch.values())
        progress(f"{created} of {missing} partitions created")

    def complete() -> bool:
        return all(sum((_listed(lab, broker) or {}).values()) >= partitions for broker in lab.broker_ids)

    wait_for(f"every broker lists {partitions} partitions", complete, 30 + _SECONDS_A_THOUSAND * partitions / 1000)
    return created


def _listed(lab: LabHandle, broker: int) -> Mapping[str, int] | None:
    """Returns {topic: number of partitions} as a broker lists them, or None if it does not answer."""
    try:
        found = ask(lab.address(broker), requests.metadata(), 10.0)
    except UnreachableError:
        return None
    return Counter(tp.topic for tp in found.partitions)


def _names(have: Mapping[str, int], missing: int, width: int) -> Iterator[tuple[str, int]]:
    number = 0
    while missing > 0:
        name = f"grown-{number}"
        if name not in have:
            yield name, min(width, missing)
            missing -= width
        number += 1


def _create(admin: AdminClient, batch: dict[str, int], replicas: int) -> None:
    """Creates topics in one request; the rest again after a timeout, which may have created some of them."""
    left = [NewTopic(name, partitions, replicas) for name, partitions in batch.items()]
    give_up = time.monotonic() + 120
    while left:
        again = []
        for new, future in zip(left, admin.create_topics(left, request_timeout=60).values(), strict=True):
            try:
                future.result()
            except KafkaException as problem:
                name = problem.args[0].name()
                if name != "TOPIC_ALREADY_EXISTS":
                    if time.monotonic() > give_up or name not in {"_TIMED_OUT", "REQUEST_TIMED_OUT", "NOT_CONTROLLER"}:
                        raise LabError(f"topic {new.topic} cannot be created: {problem.args[0].str()}") from problem
                    again.append(new)
        left = again


def _require_room(lab: LabHandle, have: Mapping[str, int], missing: int, replicas: int) -> None:
    spec, brokers = lab.state.spec, len(lab.broker_ids)
    hosted = (sum(have.values()) * min(3, brokers) + max(0, missing) * replicas) // brokers
    heap = _HEAP_MB + hosted * _HEAP_KB_A_REPLICA // 1024
    session = "broker.session.timeout.ms" if spec.recipe.mode == KRAFT else "zookeeper.session.timeout.ms"
    long_enough = int(spec.settings.get(session, "0")) >= _LONG_SESSION_MS
    busy = sum(have.values()) + missing > _BUSY
    if spec.heap_mb >= heap and (long_enough or not busy):
        return
    options = f"--heap {max(heap, spec.heap_mb)}"
    if busy:
        options += f" --set {session}={_LONG_SESSION_MS}"
    raise UsageError(
        f"lab {lab.name!r} is too small for {hosted} replicas per broker",
        hint=f"kfix lab down --name {lab.name}, then kfix lab up --name {lab.name} --brokers {brokers} {options}",
    )
