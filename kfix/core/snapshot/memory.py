"""The memory from earlier snapshots of a cluster: times, groups, and brokers that it no longer reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.core.declared import Int32, Moment
from kfix.core.snapshot.at_risk import AtRisk
from kfix.core.snapshot.moves import MoveSeen
from kfix.core.snapshot.naming import TopicPartition


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
