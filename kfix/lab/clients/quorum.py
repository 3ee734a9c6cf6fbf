"""The client of a KRaft cluster: its record is what the broker tells that has applied most of the quorum's log."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaException

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.kafka.requests import BROKER_RESOURCE, TOPIC_RESOURCE
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.access import LabClient, RecordedState
from kfix.lab.clients.asking import ask
from kfix.lab.clients.asking_controllers import (
    QuorumState,
    active_controller,
    applied_offset,
    eligible_replicas,
    unregister,
)
from kfix.lab.clients.leading import moves, start_move
from kfix.lab.definition.state import Assignment
from kfix.lab.waiting import wait_for

_TOPIC_SOURCE, _BROKER_SOURCE = 1, 2
_SECONDS = 5.0
_DEFAULT = "<default>"
#: Kafka's BROKER_ID_NOT_REGISTERED.
_NOT_REGISTERED = 102
_UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PART"


class QuorumClient(LabClient):
    """`controllers` are {id: address} of the controllers' listeners, and `security` is how to log in there."""

    def __init__(
        self,
        controllers: Mapping[int, str],
        addresses: Callable[[], Mapping[int, str]],
        security: Security | None = None,
    ) -> None:
        super().__init__(addresses)
        self._controllers = controllers
        self._security = security

    # --- the record -----------------------------------------------------------------------------------------------

    def quorum(self) -> QuorumState | None:
        """Returns what the active controller answers; None if no controller answers as the active one."""
        return active_controller(self._controllers, security=self._security)

    def controller(self) -> int | None:
        quorum = self.quorum()
        return quorum.leader if quorum else None

    def live_ids(self) -> frozenset[int]:
        """Returns the brokers that are not fenced, also where no controller is active: then nothing fences any."""
        _, seen = self._freshest()
        return frozenset(seen.brokers) if seen else frozenset()

    def are_gone(self, brokers: AbstractSet[int]) -> bool:
        """Returns whether all are fenced; a record that nothing changes proves nothing."""
        return self.controller() is not None and super().are_gone(brokers)

    def taker(self) -> int | None:
        """Every broker forwards changes to the controller that it knows: the freshest one knows the active one."""
        broker, _ = self._freshest()
        return broker

    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({topic for topic, _ in self._seen().partitions}))

    def assignment(self, topic: str) -> Assignment:
        found = self._seen().partitions.items()
        return {number: each.replicas for (name, number), each in sorted(found) if name == topic}

    def being_reassigned(self, topic: str) -> bool:
        return any(where.topic == topic for where in moves(self))

    def states(self, topics: Iterable[str] | None = None) -> dict[TopicPartition, RecordedState | None]:
        broker, seen = self._freshest()
        if seen is None or broker is None:
            return {}
        chosen = None if topics is None else frozenset(topics)
        views = {where: each for where, each in seen.partitions.items() if chosen is None or where.topic in chosen}
        short = {w.topic for w, each in views.items() if len(each.isr) < len(each.replicas) or each.leader < 0}
        eligible = eligible_replicas(self.addresses()[broker], short) if short else {}
        return {
            where: RecordedState(
                each.leader,
                each.leader_epoch,
                each.isr,
                eligible[where].elr if where in eligible else (),
                eligible[where].last_known if where in eligible else (),
            )
            for where, each in sorted(views.items())
        }

    def configs(self, kind: str) -> dict[str, dict[str, str]]:
        return {name: config for name, config in self._all_configs(kind).items() if config}

    def pending_deletions(self) -> tuple[str, ...]:
        return ()

    # --- changes --------------------------------------------------------------------------------------------------

    def write_config(self, kind: str, name: str, config: Mapping[str, str]) -> None:
        now = self._all_configs(kind).get(name, {})
        # Nothing that stays is written: min.insync.replicas, even of the same value, removes the eligible replicas.
        new = {key: value for key, value in config.items() if now.get(key) != value}
        changes: dict[str, str | None] = {**dict.fromkeys(now.keys() - config.keys()), **new}
        if not changes:
            return
        resource = TOPIC_RESOURCE if kind == "topics" else BROKER_RESOURCE
        request = requests.alter_configs(resource, "" if name == _DEFAULT else name, changes)
        # Only the broker itself takes changes of its own config.
        target = int(name) if kind == "brokers" and name != _DEFAULT else self.taker()
        address = self.addresses().get(-1 if target is None else target)
        if address is None:
            raise LabError(f"no broker takes the config of {kind} {name}", hint="kfix lab status")
        result = ask(address, request, _SECONDS)
        if result.error:
            raise LabError(f"the config of {kind} {name} was refused: {result.error} {result.message}")

    def forget(self, broker: int) -> None:
        """A fenced broker stays registered, and new topics would be placed on it; a runbook may have removed it."""
        taker = self.taker()
        error = unregister(self.addresses()[taker], broker) if taker is not None else -1
        if error not in (0, _NOT_REGISTERED):
            raise LabError(f"broker {broker} was not unregistered: error {error}", hint="kfix lab status")

    def delete_topic(self, topic: str) -> None:
        admin = self.admin()  # must outlive its futures
        try:
            admin.delete_topics([topic], operation_timeout=10, request_timeout=10)[topic].result()
        except KafkaException as problem:
            if problem.args[0].name() != _UNKNOWN_TOPIC:
                raise LabError(f"topic {topic} cannot be deleted: {problem.args[0].str()}") from problem
        wait_for(f"topic {topic} is deleted", lambda: topic not in self.topics(), 20)

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]], seconds: float = 40.0) -> None:
        for where, replicas in sorted(targets.items()):
            start_move(self, where, replicas)

        def ended() -> bool:
            if not moves(self).keys().isdisjoint(targets):
                return False
            found = self._seen().partitions
            return all(where in found and found[where].replicas == ids for where, ids in targets.items())

        wait_for(f"the reassignment of {len(targets)} partitions ends", ended, seconds)

    # --- asking brokers -------------------------------------------------------------------------------------------

    def _views(self) -> dict[int, tuple[int, MetadataResponse]]:
        """Returns {broker: (offset it has applied, its metadata)}, asked side by side: a frozen one costs a second."""
        addresses = self.addresses()

        def ask_one(broker: int) -> tuple[int, MetadataResponse] | None:
            try:
                offset = applied_offset(addresses[broker])
            except UnreachableError:
                return None
            seen = self.metadata(broker)
            return (offset, seen) if seen is not None else None

        with ThreadPoolExecutor(max_workers=max(1, len(addresses))) as pool:
            found = dict(zip(addresses, pool.map(ask_one, addresses), strict=True))
        return {broker: each for broker, each in found.items() if each is not None}

    def _freshest(self) -> tuple[int | None, MetadataResponse | None]:
        views = self._views()
        if not views:
            return None, None
        broker = max(views, key=lambda each: views[each][0])
        return broker, views[broker][1]

    def _seen(self) -> MetadataResponse:
        _, seen = self._freshest()
        if seen is None:
            raise LabError("no broker answers", hint="kfix lab status")
        return seen

    def _all_configs(self, kind: str) -> dict[str, dict[str, str]]:
        """Returns the dynamic configs of all topics, or of the brokers that answer and of their common default."""
        broker, seen = self._freshest()
        if seen is None or broker is None:
            raise LabError("no broker answers", hint="kfix lab status")
        if kind == "topics":
            return self._described(broker, TOPIC_RESOURCE, tuple({topic for topic, _ in seen.partitions}))
        found = self._described(broker, BROKER_RESOURCE, ("",))
        for each in seen.brokers:
            found |= self._described(each, BROKER_RESOURCE, (str(each),))
        return found

    def _described(self, broker: int, kind: int, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        request = requests.describe_configs(kind, names, None)
        try:
            found = ask(self.addresses()[broker], request, _SECONDS)
        except UnreachableError:
            return {}
        own = {TOPIC_RESOURCE: _TOPIC_SOURCE, BROKER_RESOURCE: _BROKER_SOURCE}[kind]
        return {
            each.name or _DEFAULT: {
                key: value for key, value in each.values.items() if not each.name or each.sources[key] == own
            }
            for each in found
            if not each.error
        }
