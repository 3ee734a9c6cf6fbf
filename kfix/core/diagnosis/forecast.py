"""The effect of losing brokers, before it happens: the result of `kfix whatif`.

`None` stands for what the snapshot cannot show; it is never "fine".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    """Live brokers that go down at the same moment, as in a power failure. `racks`: the racks lost whole."""

    brokers: frozenset[int]
    racks: tuple[str, ...] = ()


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
    """One partition after a failure. `leader` is -1 for none, None if it is unknown; `isr` holds live brokers only.

    `under_min_isr` and `last_in_sync` describe the state afterwards; `falls_under` and `left_with_last` that it is not
    so today. A partition without a leader is neither.
    """

    tp: TopicPartition
    fate: Fate
    leader_before: int | None
    leader: int | None
    replicas: tuple[int, ...]
    isr_before: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int | None
    under_min_isr: bool | None
    falls_under: bool | None
    last_in_sync: bool
    left_with_last: bool

    @property
    def changed(self) -> bool:
        """Returns whether the failure affects it, or whether that is unknown."""
        return self.fate is not Fate.KEEPS or self.falls_under is not False or self.left_with_last


@dataclass(frozen=True, slots=True)
class FailureForecast:
    """One failure judged. Partitions are counted; `partitions` names those it changes, if they were asked for.

    stops            partitions that lose their leader for good, `stranded` among them
    stopped          partitions without a leader today, and `revived` among them: the failure triggers their election
    under_min_isr    partitions that fall below min.insync.replicas: acks=all producers stop
    last_in_sync     partitions that are left with their last in-sync replica
    unjudged         partitions of which the leader or min.insync.replicas afterwards is unknown
    groups           consumer groups, by name, whose coordinator stops
    unwritable       consumer groups, by name, that can no longer commit or rebalance
    offsets          partitions of __consumer_offsets that stop; `offsets_under` fall below min.insync.replicas
    transactions     partitions of __transaction_state that stop or fall below
    share_states     partitions of __share_group_state (share groups, Kafka 4) that stop or fall below
    controller_moves, quorum_lost   None: unknown. The quorum is ZooKeeper's if the brokers' hosts go down, too
    risks            reasons that can be removed beforehand, if partitions were asked for
    """

    failure: Failure
    stops: int
    stranded: int
    unclean: int
    moves: int
    stopped: int
    revived: int
    under_min_isr: int
    last_in_sync: int
    unjudged: int
    groups: tuple[str, ...]
    unwritable: tuple[str, ...]
    offsets: tuple[int, ...]
    offsets_under: tuple[int, ...]
    transactions: tuple[int, ...]
    share_states: tuple[int, ...]
    controller_moves: bool | None
    quorum_lost: bool | None
    partitions: tuple[PartitionForecast, ...] = ()
    risks: tuple[LatentRisk, ...] = ()

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
