"""What earlier snapshots of a cluster contain and it may no longer report: groups, brokers, replicas at risk, times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.declared import Int32, Moment
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.naming import TopicPartition


class AtRisk(NamedTuple):
    """A partition of which not every replica was in sync, in the last snapshot with that state, at `at`.

    Any broker of `holders` could lead it without a loss: the ISR, and on KRaft the eligible replicas. `leader` is -1 if
    it had none; `epoch` and `version` are of its state, `version` is -1 on KRaft. `former` led it last, in the epoch
    `former_epoch`, and had the log end `end` and the high watermark `visible`; each is -1 if it is unknown. At `until`,
    a loss is forgotten whose holders have returned; 0 if none was seen. Times are in seconds since the epoch.
    """

    at: Moment
    leader: Int32
    epoch: Int32
    version: Int32
    holders: tuple[Int32, ...]
    former: Int32 = -1
    former_epoch: Int32 = -1
    end: int = -1
    visible: int = -1
    until: Moment = 0.0


class MoveSeen(NamedTuple):
    """A partition that is being reassigned, and the progress of its new replicas.

    `ends` are (broker, log end) of the replicas that are being added and are not in sync, in order. Earlier snapshots
    found the same ones first at `since` and last at `last`, in seconds since the epoch.
    """

    since: Moment
    last: Moment
    ends: tuple[tuple[Int32, int], ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier snapshots contain. Times are seconds since the epoch.

    groups   all groups
    brokers  the last address of every broker
    seen     when each broker was last seen: after a week it is removed
    alive    when each broker and controller answered last
    dead     when each broker was last known not to be alive, or a controller did not answer
    well     when each broker was last in every ISR that it belongs to (KRaft only)
    epochs   when the quorum was last in each of its leader epochs (KRaft only)
    applied  when no broker was first found to have applied more of the metadata than this offset (KRaft only)
    moves    the reassignments under way, and how far they were
    at_risk  who had every record of the partitions that lacked replicas
    positions  the committed offsets of each group and the ends of its logs, a minute ago or more
    """

    groups: tuple[str, ...] = ()
    brokers: Mapping[Int32, str] = field(default_factory=dict)
    seen: Mapping[Int32, Moment] = field(default_factory=dict)
    alive: Mapping[Int32, Moment] = field(default_factory=dict)
    dead: Mapping[Int32, Moment] = field(default_factory=dict)
    well: Mapping[Int32, Moment] = field(default_factory=dict)
    epochs: Mapping[Int32, Moment] = field(default_factory=dict)
    applied: Mapping[int, Moment] = field(default_factory=dict)
    moves: Mapping[TopicPartition, MoveSeen] = field(default_factory=dict)
    at_risk: Mapping[TopicPartition, AtRisk] = field(default_factory=dict)
    positions: tuple[GroupReading, ...] = ()
