"""The parts of an in-memory cluster that answers and snapshots are made from."""

from __future__ import annotations

from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.recovery import CopyRead
from kfix.core.snapshot.snapshot import ClusterIdentity, ControllerNode, Mode, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch, TransactionState
from kfix.heal.memory.configs import Settings
from kfix.heal.memory.controller import MemoryController
from kfix.heal.memory.faults import Faults
from kfix.heal.memory.groups import MemoryGroup
from kfix.heal.memory.load_failures import MemoryLoadFailure
from kfix.heal.memory.quorum import MemoryQuorum
from kfix.heal.memory.state import Logs, ManualClock, MemoryBroker, Records

#: The metadata.version that the software of Kafka 4.3 supports.
SUPPORTED = 30


class MemoryParts:
    """`groups` is {group: number of committed offsets}; `loading` is {offsets partition: answers until it is loaded}.

    - `committed`: the offsets that a group has committed by name
    - `members`: the groups that have members; `joined`: the groups whose members are known one by one
    - `transactions`: the state of each transactional.id; `open_batches`: the batches at last stable offsets
    - `decisions`: earlier records of `__transaction_state`; `compacted`: whether some of them were removed
    - `pending`: {group: {partition: producer id whose open transaction holds its offset}}
    - `controllers`: {voter of a KRaft quorum, if it is shown: the zxid of its last start}
    - `site_command`, `site_upgrade`: the inventory's commands that restart a node and bring it to another version
    - `level`: metadata.version in force; `levels`: {node that was upgraded: the highest that its software supports}
    - `disks`: the metadata logs in log directories of this host
    - `quorum`: the voters of a KRaft quorum, if they may change
    - `load_failures`: offsets partitions that no coordinator can load
    """

    def __init__(self, cluster_id: str, *, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.records = Records(now_ms=int(self.clock.now() * 1000))
        self.brokers: dict[int, MemoryBroker] = {}
        self.logs = Logs()
        self.faults = Faults()
        self.groups: dict[str, int] = {}
        self.loading: dict[int, int] = {}
        self.committed: dict[str, dict[TopicPartition, StoredOffset]] = {}
        self.members: set[str] = set()
        #: {group: the records per second that it reads of each partition}
        self.pace: dict[str, int] = {}
        self.site_command = self.site_upgrade = ""
        self.level = SUPPORTED
        self.levels: dict[int, int] = {}
        self.controllers: dict[int, int] = {}
        self.joined: dict[str, MemoryGroup] = {}
        self.transactions: dict[str, TransactionState] = {}
        self.decisions: list[TransactionState] = []
        self.compacted = False
        self.open_batches: dict[TopicPartition, OpenBatch] = {}
        self.pending: dict[str, dict[TopicPartition, int]] = {}
        self.load_failures: dict[TopicPartition, MemoryLoadFailure] = {}
        self.disks: dict[str, CopyRead] = {}
        self.quorum = MemoryQuorum()
        self.cluster_id = cluster_id
        self.settings = Settings(self.records, self.brokers)
        self.control: MemoryController = MemoryController(self.records, self.brokers, self.logs, self.settings)

    @property
    def mode(self) -> Mode:
        return Mode.ZOOKEEPER

    @property
    def authority(self) -> str:
        """Returns the name by which `faults.unreadable` makes the record unreadable."""
        return "zookeeper" if self.mode is Mode.ZOOKEEPER else "quorum"

    def identity(self) -> ClusterIdentity:
        zookeeper = "zk1.example:2181" if self.mode is Mode.ZOOKEEPER else ""
        return ClusterIdentity(
            self.cluster_id, self.mode, "broker1.example:9092", zookeeper, ClientSecurity("PLAINTEXT")
        )

    def eligible(self, _tp: TopicPartition) -> EligibleLeaders | None:
        """Returns who may lead a partition without a leader; None on ZooKeeper, which does not know."""
        return None

    def controller_node(self) -> ControllerNode:
        r = self.records
        fences = (r.epoch, r.epoch_version, r.epoch_mzxid, r.kraft_epoch)
        return ControllerNode(r.controller, r.elected_ms, r.controller_czxid, *fences)
