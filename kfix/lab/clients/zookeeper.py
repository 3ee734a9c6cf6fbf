"""The client of a cluster whose record is in ZooKeeper, through kazoo."""

import contextlib
import json
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from kfix.core.errors import LabError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.access import LabClient, RecordedState, Znodes
from kfix.lab.definition.state import Assignment
from kfix.lab.waiting import wait_for

_REASSIGN = "/admin/reassign_partitions"

# A server that has lost its quorum closes the connection, and the client tries another one.
_PATIENTLY = KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5, deadline=15, ignore_expire=False)


class ZooKeeperClient(LabClient, Znodes):
    def __init__(self, zookeeper_connect: str, addresses: Callable[[], Mapping[int, str]], digest: str = "") -> None:
        """`digest` is USER:PASSWORD of a user who may do everything, where znodes are protected."""
        super().__init__(addresses)
        self.znodes = self
        quiet = logging.getLogger("kfix.lab.kazoo")
        quiet.setLevel(logging.CRITICAL)
        auth = [("digest", digest)] if digest else None
        self._zk = KazooClient(hosts=zookeeper_connect, timeout=10.0, logger=quiet, auth_data=auth)

    def __enter__(self) -> Self:
        try:
            with warnings.catch_warnings():
                # While a lab starts, the first broker has not created the chroot yet.
                warnings.filterwarnings("ignore", "No chroot path exists")
                self._zk.start(timeout=15)
        except (KazooTimeoutError, KazooException) as problem:
            self._close()
            raise LabError(f"ZooKeeper does not answer: {problem}", hint="kfix lab status") from problem
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._zk.stop()
        self._zk.close()

    # --- from ZooKeeper -------------------------------------------------------------------------------------------

    def live_ids(self) -> frozenset[int]:
        return frozenset(int(each) for each in self._children("/brokers/ids"))

    def controller(self) -> int | None:
        raw = self._read("/controller")
        return int(raw["brokerid"]) if raw else None

    def taker(self) -> int | None:
        return self.controller()

    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self._children("/brokers/topics")))

    def assignment(self, topic: str) -> Assignment:
        raw = self._read(f"/brokers/topics/{topic}") or {"partitions": {}}
        return {
            int(number): tuple(replicas)
            for number, replicas in sorted(raw["partitions"].items(), key=lambda kv: int(kv[0]))
        }

    def being_reassigned(self, topic: str) -> bool:
        raw = self._read(f"/brokers/topics/{topic}") or {}
        return bool(raw.get("adding_replicas") or raw.get("removing_replicas"))

    def state(self, topic: str, partition: int) -> RecordedState | None:
        raw = self._read(_state_path(topic, partition))
        return RecordedState(raw["leader"], raw["leader_epoch"], tuple(raw["isr"])) if raw else None

    def states(self, topics: Iterable[str] | None = None) -> dict[TopicPartition, RecordedState | None]:
        chosen = self.topics() if topics is None else topics
        found = (TopicPartition(topic, number) for topic in chosen for number in self.assignment(topic))
        return {where: self.state(*where) for where in found}

    def configs(self, kind: str) -> dict[str, dict[str, str]]:
        found = {
            name: (self._read(f"/config/{kind}/{name}") or {}).get("config", {})
            for name in self._children(f"/config/{kind}")
        }
        return {name: config for name, config in found.items() if config}

    def pending_deletions(self) -> tuple[str, ...]:
        return tuple(self._children("/admin/delete_topics"))

    # --- changes through the znodes that Kafka's own tools write ------------------------------------------------

    def forge_state(self, topic: str, partition: int, leader: int, isr: tuple[int, ...]) -> None:
        path = _state_path(topic, partition)
        data, stat = self._zk.get(path)
        state = json.loads(data)
        state |= {"leader": leader, "leader_epoch": state["leader_epoch"] + 1, "isr": list(isr)}
        self._zk.set(path, json.dumps(state).encode(), version=stat.version)

    def poke(self, topic: str, partition: int) -> None:
        note = {"version": 1, "partitions": [{"topic": topic, "partition": partition}]}
        path = "/isr_change_notification/isr_change_"
        self._zk.create(path, json.dumps(note).encode(), sequence=True, makepath=True)

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]], seconds: float = 40.0) -> None:
        entries = [
            {"topic": topic, "partition": number, "replicas": list(ids)}
            for (topic, number), ids in sorted(targets.items())
        ]
        if not entries:
            return
        data = json.dumps({"version": 1, "partitions": entries}).encode()

        def written() -> bool:
            try:
                self._zk.create(_REASSIGN, data, makepath=True)
            except NodeExistsError:
                return False  # the controller still works on another; it takes one at a time
            return True

        wait_for("the earlier reassignment ends", written, seconds)
        wait_for(f"the reassignment of {len(entries)} partitions ends", lambda: not self._zk.exists(_REASSIGN), seconds)

    def write_config(self, kind: str, name: str, config: Mapping[str, str]) -> None:
        path = f"/config/{kind}/{name}"
        data = json.dumps({"version": 1, "config": dict(config)}).encode()
        self._zk.ensure_path(path)
        self._zk.set(path, data)
        # Running brokers apply a change only after a notification.
        note = json.dumps({"version": 2, "entity_path": f"{kind}/{name}"}).encode()
        self._zk.create("/config/changes/config_change_", note, sequence=True, makepath=True)

    def forget(self, broker: int) -> None:
        """The registration ended with the session."""

    def delete_topic(self, topic: str) -> None:
        with contextlib.suppress(NodeExistsError):
            self._zk.create(f"/admin/delete_topics/{topic}", b"", makepath=True)

    def erase_topic(self, topic: str) -> None:
        for path in (f"/brokers/topics/{topic}", f"/config/topics/{topic}", f"/admin/delete_topics/{topic}"):
            with contextlib.suppress(NoNodeError):
                self._zk.delete(path, recursive=True)

    def drop_controller(self) -> None:
        with contextlib.suppress(NoNodeError):
            self._zk.delete("/controller")

    def drop_reassignment(self) -> None:
        with contextlib.suppress(NoNodeError):
            self._zk.delete(_REASSIGN)

    def migration(self) -> dict[str, Any] | None:
        return self._read("/migration")

    def drop_migration(self, *, controller: bool) -> None:
        if controller:
            self.drop_controller()
        with contextlib.suppress(NoNodeError):
            self._zk.delete("/migration")

    def erase(self, path: str) -> bool:
        if self._zk.exists(path) is None:
            return False
        self._zk.delete(path, recursive=True)
        return True

    def cluster_id(self) -> str:
        return str((self._read("/cluster/id") or {}).get("id", ""))

    def _children(self, path: str) -> list[str]:
        try:
            return list(_PATIENTLY.copy()(self._zk.get_children, path))
        except NoNodeError:
            return []

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            data, _ = _PATIENTLY.copy()(self._zk.get, path)
        except NoNodeError:
            return None
        return dict(json.loads(data)) if data else None


def _state_path(topic: str, partition: int) -> str:
    return f"/brokers/topics/{topic}/partitions/{partition}/state"
