"""The metadata authority behind the brokers: ZooKeeper. The KRaft quorum is read in `quorum.py` and `kraft.py`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from kfix.core.collect.tasks import Questions
from kfix.core.errors import UsageError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import Mode, ZooKeeperNode, ZooKeeperView
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.access import ZooKeeperAccess
from kfix.core.zookeeper.agreed import read_agreed
from kfix.core.zookeeper.connect import Connect, parse_connect
from kfix.core.zookeeper.servers import probe_node

#: Most unreadable znodes that are listed one by one.
_MOST_ZNODES = 50


@dataclass(frozen=True, slots=True)
class ZooKeeperAnswer:
    """The answer of ZooKeeper. `unread` maps each znode with invalid content to the error: {path: error}."""

    cluster_id: str
    view: ZooKeeperView | None
    connect: str
    ensemble: tuple[ZooKeeperNode, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def left_over(self) -> bool:
        """Whether a KRaft controller has taken over, and no broker uses this ZooKeeper any more."""
        return self.view is not None and self.view.migrating and not self.view.registrations


def ask_zookeeper(
    questions: Questions, connect: Connect, target: Target, deadline: Deadline, names: PartitionNames, ledger: Ledger
) -> Callable[[], ZooKeeperAnswer]:
    """Starts the bulk read and one `srvr` request per server, and returns the function that waits for the answers."""
    protocol = target.security.protocol
    read = questions.start(f"zookeeper {connect}", lambda: read_agreed(connect, protocol, deadline, names, ledger))
    # A server that does not respond is a fact about the ensemble, not a missing source of the snapshot.
    aside = Questions()
    nodes = {
        s: aside.start(f"srvr {s}", partial(probe_node, s, deadline, ledger, connect.access)) for s in connect.servers
    }

    def answer() -> ZooKeeperAnswer:
        found = read.result(deadline)
        ensemble = tuple(
            task.result(deadline) or ZooKeeperNode(str(server), "", "no answer in time")
            for server, task in nodes.items()
        )
        if found is None:
            return ZooKeeperAnswer("", None, str(connect), ensemble)
        for server, why in found.doubted.items():
            questions.failed(f"server {server} of zookeeper", why)
        return ZooKeeperAnswer(found.cluster_id, found.view, str(connect), ensemble, found.unread)

    return answer


def discover(configs: Mapping[str, str], access: ZooKeeperAccess) -> tuple[Mode, Connect | None]:
    """Returns mode and ZooKeeper address from the configs of a broker, including the chroot (tried on 2.7.1)."""
    if configs.get("process.roles"):
        return Mode.KRAFT, None
    try:
        return Mode.ZOOKEEPER, parse_connect(configs.get("zookeeper.connect", ""), access)
    except UsageError:
        return Mode.UNKNOWN, None


def note_unread(unread: Mapping[str, str], questions: Questions) -> None:
    """Records a failed source per unreadable znode, at most `_MOST_ZNODES`, and one for the rest."""
    for path, why in sorted(unread.items())[:_MOST_ZNODES]:
        questions.failed(f"znode {path}", why)
    if len(unread) > _MOST_ZNODES:
        questions.failed("znodes", f"{len(unread) - _MOST_ZNODES} more znodes have invalid content")
