"""The authority behind the brokers: ZooKeeper, where there is one. A KRaft quorum will have its reader here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.adapters.collect.tasks import Questions, Task
from kfix.adapters.deadline import Deadline
from kfix.adapters.target import Target
from kfix.adapters.zookeeper.connect import Connect, parse_connect
from kfix.adapters.zookeeper.fresh import probe_node
from kfix.adapters.zookeeper.view import Unread, read_view
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import Mode, ZooKeeperNode, ZooKeeperView

#: Unreadable znodes that are shown one by one.
_MOST_ZNODES = 50


@dataclass(frozen=True, slots=True)
class ZooKeeperAnswer:
    """`unread` are znodes that hold no record of Kafka, with what is wrong: {path: why}."""

    cluster_id: str
    view: ZooKeeperView | None
    connect: str
    ensemble: tuple[ZooKeeperNode, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)


class ZooKeeperQuestion:
    """The bulk read and one `srvr` a server, all begun at once."""

    def __init__(self, look: Questions, connect: Connect, target: Target, deadline: Deadline) -> None:
        self._connect = connect
        self._deadline = deadline
        self._view: Task[tuple[str, ZooKeeperView, Unread]] = look.start(
            f"zookeeper {connect}", lambda: read_view(connect, target.security.protocol, deadline)
        )
        # A server that does not answer is a fact about the ensemble, not a source that the snapshot lacks.
        aside = Questions()
        self._nodes: list[Task[ZooKeeperNode]] = [
            aside.start(f"srvr {s}", lambda s=s: probe_node(s, deadline))  # type: ignore[misc]
            for s in connect.servers
        ]

    def answer(self) -> ZooKeeperAnswer:
        answered = self._view.result(self._deadline)
        ensemble = tuple(
            task.result(self._deadline) or ZooKeeperNode(str(server), "", "no answer in time")
            for server, task in zip(self._connect.servers, self._nodes, strict=True)
        )
        cluster_id, view, unread = answered or ("", None, {})
        return ZooKeeperAnswer(cluster_id, view, str(self._connect), ensemble, unread)


def discover(configs: Mapping[str, str]) -> tuple[Mode, Connect | None]:
    """What a broker's own settings say of the authority; DescribeConfigs gives the chroot too (tried on 2.7.1)."""
    if configs.get("process.roles"):
        return Mode.KRAFT, None
    try:
        return Mode.ZOOKEEPER, parse_connect(configs.get("zookeeper.connect", ""))
    except UsageError:
        return Mode.UNKNOWN, None


def note_unread(unread: Mapping[str, str], look: Questions) -> None:
    """A failed source for each znode, so that each is known not to be known; a thousand of them are one story."""
    for path, why in sorted(unread.items())[:_MOST_ZNODES]:
        look.failed(f"znode {path}", why)
    if len(unread) > _MOST_ZNODES:
        look.failed("znodes", f"{len(unread) - _MOST_ZNODES} more znodes hold no record of Kafka")
