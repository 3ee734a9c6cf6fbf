"""The core's interfaces to the outside. Adapters implement these protocols; the core imports no client library.

The authority is ZooKeeper or a KRaft quorum, so nothing here names a znode unless only ZooKeeper has it
(`reelect_controller`). Bulk reads of 50 000 partitions belong to the collector, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kfix.core.derive.hanging import Hanging
from kfix.core.derive.versions import VersionRule
from kfix.core.snapshot.group_reading import GroupMembers, LastGeneration
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import GroupOffsets, LoggedRecord, StoredOffset
from kfix.core.snapshot.reading import (
    BrokerRegistration,
    ChangeResult,
    ConfigValue,
    LogDirs,
    LogTail,
    NodeLevels,
    NodeName,
    NodeRole,
    PartitionReading,
    ResourceKind,
    StableEnd,
    StartMark,
)
from kfix.core.snapshot.recovery import AppliedMetadata, CopyRead, NewLog
from kfix.core.snapshot.snapshot import (
    Assignment,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    LogEnd,
    Snapshot,
    TopicPartition,
)
from kfix.core.snapshot.transactions import OpenBatch, TransactionState
from kfix.core.snapshot.voters import Joining, QuorumVoters


class ClusterReader(Protocol):
    """Fresh reads, never cached; each raises UnreachableError if its source does not answer in time."""

    def identity(self) -> ClusterIdentity: ...

    def registered_brokers(self) -> frozenset[int]: ...

    def registration(self, broker: int) -> BrokerRegistration:
        """Returns a KRaft cluster's registration of this broker id. It reads all partitions, which takes seconds on a
        large one.

        Raises UnreachableError with ZooKeeper, too, where a registration ends with its broker.
        """
        ...

    def controller(self) -> ControllerNode: ...

    def migrating(self) -> bool:
        """Returns True during a migration from ZooKeeper to KRaft: then `/controller` must not be touched."""
        ...

    def partition(self, tp: TopicPartition) -> PartitionReading: ...

    def recorded(self, tp: TopicPartition) -> PartitionReading:
        """Reads without the brokers' views, so that a hung broker cannot delay it: a change rests on this reading."""
        ...

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        """Reads all partitions with all views, in some seconds on a large cluster. `errors` name failed sources."""
        ...

    def reassignments(self) -> Mapping[TopicPartition, Assignment]: ...

    def partition_count(self, topic: str) -> int | None:
        """Returns None if the topic does not exist."""
        ...

    def probe_group(self, group: str) -> CoordinatorProbe: ...

    def log_ends(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]: ...

    def log_tails(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogTail]:
        """As `log_ends`, with the epoch of each last record: about twenty requests per replica instead of one."""
        ...

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        """Returns all partitions of a topic as recorded; empty if it does not exist."""
        ...

    def configs(self, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> Mapping[str, ConfigValue]:
        """Returns the values; an unknown key is absent. Each broker reports its own configuration.

        A setting that a topic does not have itself is the default of the broker that responds, and brokers may differ;
        unclean elections on KRaft are the active controller's.
        """
        ...

    def follows(self, rule: VersionRule, broker: int) -> bool: ...

    def log_dirs(self, broker: int) -> LogDirs: ...

    def stable_end(self, tp: TopicPartition) -> StableEnd:
        """Requested from the partition's leader."""
        ...

    def group(self, group: str, tps: tuple[TopicPartition, ...]) -> GroupOffsets:
        """Returns state and committed offsets of these partitions, requested from the group's coordinator."""
        ...

    def group_members(self, group: str) -> GroupMembers:
        """Returns state and members, requested from the group's coordinator."""
        ...

    def last_generation(self, group: str) -> LastGeneration:
        """Reads the end of the log of the group's offsets partition, at most some megabytes, at its coordinator."""
        ...

    def offsets_replay(self, tp: TopicPartition) -> OffsetsReplay:
        """Reads the whole log of an offsets partition at its leader, and what a coordinator cannot load of it."""
        ...

    def key_left(self, tp: TopicPartition, key: bytes, first: int) -> Mapping[int, KeyLeft]:
        """Returns the records with this key from offset `first` on in each replica; one that fails has an error."""
        ...

    def transaction(self, transactional_id: str, since_ms: int) -> TransactionState | None:
        """Returns the last state of a transactional.id since this time, from its coordinator's log, or None."""
        ...

    def open_batch(self, tp: TopicPartition) -> OpenBatch | None:
        """Returns the batch at the last stable offset, from the leader; None if no transaction is open."""
        ...

    def hanging(self, tp: TopicPartition) -> Hanging | None:
        """Returns the transaction at the last stable offset if it was open there before and after its coordinator's
        log was read, and is not open in the log; None if none is open, or one that its coordinator has open.
        """
        ...

    def served_to(self, tp: TopicPartition, offset: int) -> int:
        """Returns the offset after the last batch that a consumer with read_committed gets in a fetch from here."""
        ...

    def logged_record(self, tp: TopicPartition, offset: int) -> LoggedRecord:
        """Returns one record from the partition's leader. Raises RefusedError where no consumer gets one there."""
        ...

    def records_left(self, tp: TopicPartition, offset: int) -> bool:
        """Returns whether a consumer at this offset gets a record: markers of transactions are none."""
        ...

    def applied(self) -> AppliedMetadata:
        """Asks each known broker of a KRaft cluster for its metadata, whether or not a controller is active."""
        ...

    def voters(self) -> QuorumVoters:
        """Returns the voters of a KRaft quorum by its active controller, which a majority of them follows."""
        ...

    def metadata_copies(self, folders: tuple[str, ...]) -> tuple[CopyRead, ...]:
        """Reads the metadata logs in these log directories of this host, the longest first.

        A folder that does not exist is `MISSING`. Raises UnreachableError, also for a log of another cluster.
        """
        ...

    def start_mark(self) -> StartMark:
        """Returns the present moment, by the record in which nodes register when they start."""
        ...

    def starts_since(self, mark: StartMark) -> Mapping[NodeName, int]:
        """Returns the nodes that have registered since: {node: czxid, or offset in the metadata log}.

        With ZooKeeper only the brokers that are still registered are known. Raises UnreachableError, on KRaft also if
        the log no longer begins before the mark.
        """
        ...

    def metadata_levels(self) -> Mapping[NodeName, NodeLevels]:
        """Asks every registered broker of a KRaft cluster, a fenced one too (4.0 and later), and every voter."""
        ...

    def restart_command(self) -> str:
        """Returns the site's template of the command that restarts a node, from a trusted inventory; "" without."""
        ...

    def upgrade_command(self) -> str:
        """Returns the template of the command that brings a node to another version, as `restart_command` does."""
        ...

    def snapshot(self) -> Snapshot:
        """Reads all sources, as a diagnosis does."""
        ...


class ClusterChanger(Protocol):
    """The only way to change a cluster. Nothing retries; a missing answer gives `ChangeResult.unknown`."""

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult: ...

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        """`None` cancels a reassignment. The present list is the no-op that makes a controller read it again."""
        ...

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        """Deletes `/controller` if the version of `/controller_epoch` is this one (docs/facts/zookeeper.md)."""
        ...

    def alter_configs(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        """Sets these keys on this resource only; `None` removes the resource's own value."""
        ...

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, StoredOffset | None]) -> ChangeResult:
        """Commits offsets of a group without members; `None` deletes the committed offset."""
        ...

    def evict_member(self, group: str, member: str, instance: str) -> ChangeResult:
        """Removes one member from a group; `instance` is its group.instance.id, "" for a dynamic member."""
        ...

    def abort_transaction(self, transactional_id: str, producer: int, epoch: int, timeout_ms: int) -> ChangeResult:
        """Takes over the transactional.id if it still has this producer id: its open transaction is aborted.

        `timeout_ms` becomes its transaction.timeout.ms, as any new producer sets it.
        """
        ...

    def end_transaction(
        self, tp: TopicPartition, transactional_id: str, batch: OpenBatch, *, commit: bool
    ) -> ChangeResult:
        """Writes the marker that ends the transaction of this batch to the leader of one partition.

        The leader accepts it for a producer without a transaction as well. `transactional_id` is "" if it is unknown.
        """
        ...

    def unregister_broker(self, broker: int) -> ChangeResult:
        """Removes the registration of a broker from a KRaft cluster. Kafka accepts it for a live broker as well."""
        ...

    def remove_voter(self, node: int, directory: str) -> ChangeResult:
        """Removes the voter with this directory id from a KRaft quorum (KIP-853). Kafka accepts it for a live one."""
        ...

    def add_voter(self, wanted: Joining) -> ChangeResult:
        """Adds a controller that follows as an observer to the voters of a KRaft quorum."""
        ...

    def raise_metadata_version(self, level: int) -> ChangeResult:
        """Raises metadata.version of a KRaft cluster, and never lowers it."""
        ...

    def write_metadata_log(self, wanted: NewLog) -> ChangeResult:
        """Writes a new log directory on this host. It changes no file that exists."""
        ...

    def restart_node(self, role: NodeRole, node: int, template: str, version: str = "") -> ChangeResult:
        """Runs the site's command for one node and waits for its end. Any other template is refused.

        With a `version` it is the command that brings the node to it.
        """
        ...

    def delete_key(self, tp: TopicPartition, key: bytes) -> ChangeResult:
        """Appends a record without a value to a partition of the offsets topic, at its leader."""
        ...


class ClusterLock(Protocol):
    """Allows one run per cluster at a time, wherever it is started."""

    @property
    def scope(self) -> str:
        """Returns who sees the lock, such as `all kfix on this cluster (ZooKeeper)`."""
        ...

    def take(self, holder: Mapping[str, str]) -> None:
        """Raises HeldError with the holder, UnreachableError if the lock is not available."""
        ...

    def held(self) -> bool:
        """Returns False as soon as the lock may have been lost, as with an expired session."""
        ...

    def release(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Returns seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Returns seconds since the boot of the host, by a clock that is never set: the same for all processes."""
        ...

    def boot(self) -> str:
        """Returns the name of that boot, by which `monotonic` of two processes can be compared; "" if it has none."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Human(Protocol):
    """The person who answers at gates; not asked if `interactive` is False.

    `ask` returns None at the end of input and after `within` seconds. It discards what was typed before its prompt.
    """

    @property
    def interactive(self) -> bool: ...

    def show(self, text: str) -> None: ...

    def ask(self, prompt: str, within: float | None = None) -> str | None: ...
