"""The effect of losing brokers, before it happens: the result of `kfix whatif`.

`None` stands for what the snapshot cannot show; it is never "fine".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from kfix.core.declared import Unstored
from kfix.core.snapshot.snapshot import TopicPartition


class Fate(StrEnum):
    """What becomes of a partition.

    KEEPS     its leader stays
    MOVES     an in-sync replica takes over; no record is lost
    UNCLEAN   no in-sync replica is left and unclean elections are enabled: another replica leads, records are lost
    STOPS     no leader until a broker comes back: no in-sync replica is left
    STRANDED  no leader although an in-sync replica is left: ZooKeeper's record differs from the controller's memory
    STOPPED   it has no leader today, so this is not the loss's doing
    UNKNOWN   the snapshot does not show enough
    """

    KEEPS = "keeps"
    MOVES = "moves"
    UNCLEAN = "unclean"
    STOPS = "stops"
    STRANDED = "stranded"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """Live brokers that go down at the same moment, as in a power failure. `racks`: the racks lost whole.

    `controllers` of a KRaft quorum that go down with them, besides those in the processes of these brokers.
    """

    brokers: frozenset[int]
    racks: tuple[str, ...] = ()
    controllers: frozenset[int] = frozenset()


class LatentRiskKind(StrEnum):
    """Why partitions are hit, as far as an operator can prevent it."""

    DIVERGED = "diverged"
    OUT_OF_SYNC = "out of sync"
    ONE_RACK = "one rack"
    FEW_REPLICAS = "few replicas"
    MIN_ISR_IS_RF = "min ISR is RF"
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True)
class LatentRisk:
    """One reason for which a failure hits `count` partitions, the first of which is `tp`.

    `topic` is set if the remedy is per topic. OUT_OF_SYNC: `brokers` would survive and hold replicas that are not in
    sync. FEW_REPLICAS: some partitions have only `replicas`, and `factor` would let them survive.
    """

    kind: LatentRiskKind
    count: int
    tp: TopicPartition
    topic: str = ""
    brokers: tuple[int, ...] = ()
    replicas: int = 0
    factor: int = 0


@dataclass(frozen=True, slots=True)
class PartitionForecast:
    """A partition after a failure. Without a leader it neither falls below nor is left with its last replica."""

    tp: Unstored[TopicPartition]
    fate: Annotated[Fate, "stopped: it has no leader today"]
    leader_before: Annotated[int | None, "-1: none, null: unknown"]
    leader: Annotated[int | None, "afterwards; -1: none, null: unknown"]
    replicas: Annotated[tuple[int, ...], "in assignment order"]
    isr_before: Annotated[tuple[int, ...], "the ISR of today"]
    isr: Annotated[tuple[int, ...], "the live in-sync replicas afterwards"]
    min_isr: Annotated[int | None, "at the new leader"]
    under_min_isr: Annotated[bool | None, "afterwards; null: unknown"]
    last_in_sync: Annotated[bool, "afterwards"]
    falls_under: Annotated[bool | None, "below min.insync.replicas, and not so today"]
    left_with_last: Annotated[bool, "with the last in-sync replica, and not so today"]

    @property
    def changed(self) -> bool:
        """Returns whether the failure affects it, or whether that is unknown."""
        return self.fate is not Fate.KEEPS or self.falls_under is not False or self.left_with_last


@dataclass(frozen=True, slots=True)
class FailureForecast:
    """One failure judged. Partitions are counted; `partitions` names those it changes, if they were asked for.

    `risks` are reasons that can be removed beforehand, if partitions were asked for.
    """

    failure: Unstored[Failure]
    stops: Annotated[int, "without a leader until a broker comes back"]
    stranded: Annotated[int, "of these, with a live in-sync replica: ZooKeeper's record differs from the controller's"]
    unclean: Annotated[int, "elected unclean, records lost"]
    moves: Annotated[int, "an in-sync replica takes over, nothing is lost"]
    under_min_isr: Annotated[int, "fall below min.insync.replicas; producers with acks=all stop"]
    last_in_sync: Annotated[int, "left with the last in-sync replica"]
    stopped: Annotated[int, "without a leader today, not caused by the failure"]
    revived: Annotated[int, "of these, elected because of the failure"]
    unjudged: Annotated[int, "leader or min.insync.replicas afterwards unknown"]
    groups: Annotated[tuple[str, ...], "consumer groups whose coordinator stops"]
    unwritable: Annotated[tuple[str, ...], "groups that can no longer commit or rebalance"]
    offsets: Annotated[tuple[int, ...], "partitions of __consumer_offsets that stop"]
    offsets_under: Annotated[tuple[int, ...], "partitions of __consumer_offsets that fall below min.insync.replicas"]
    transactions: Annotated[tuple[int, ...], "partitions of __transaction_state that stop or fall below"]
    share_states: Annotated[tuple[int, ...], "partitions of __share_group_state (share groups) that stop or fall below"]
    controller_moves: Annotated[bool | None, "null: unknown"]
    quorum_lost: Annotated[bool | None, "null: unknown; of the controllers, or of ZooKeeper if the hosts go down, too"]
    partitions: Unstored[tuple[PartitionForecast, ...]] = ()
    risks: Unstored[tuple[LatentRisk, ...]] = ()

    @property
    def something_stops(self) -> bool:
        """An unclean election loses records, which is no better than a stop. A rack goes down with its hosts."""
        return bool(self.stops or self.unclean or (self.quorum_lost and self.failure.racks))

    @property
    def something_degrades(self) -> bool:
        return bool(self.under_min_isr or self.last_in_sync or self.quorum_lost)

    @property
    def rank(self) -> tuple[int, ...]:
        """The higher, the worse."""
        losses = (self.stops, self.unclean, int(bool(self.quorum_lost)), len(self.groups), self.unjudged)
        return (*losses, self.under_min_isr, len(self.unwritable), self.last_in_sync, self.moves)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Failures of one cluster, worst first. `unknown` lists what the snapshot lacks, in sentences.

    `groups_known` is False if there may be more groups than those that are named. `options` are the options of kfix
    that name this cluster in a command to paste.
    """

    cluster: str
    options: str
    taken_at: float
    brokers: tuple[int, ...]
    partitions: int
    topics: int
    groups_known: bool
    failures: tuple[FailureForecast, ...]
    unknown: tuple[str, ...] = ()
    kraft: bool = False
