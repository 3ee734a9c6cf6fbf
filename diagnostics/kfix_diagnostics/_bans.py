"""What findings forbid while they last, and remedies that another finding may forbid (`holding`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kfix.core.diagnosis.finding import Ban, ChangeKind, Remedy
from kfix.core.snapshot.snapshot import TopicPartition

#: What the runbooks do to leaders, replicas and brokers. One that only sets topics or asks a person does none of it.
CHANGES_OF: Final[Mapping[str, tuple[ChangeKind, ...]]] = {
    "cancel-reassignment": (ChangeKind.REASSIGNMENT,),
    "controller-reelect": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "coordinator-failed": (ChangeKind.ELECTION, ChangeKind.REASSIGNMENT),
    "coordinator-not-answering": (ChangeKind.ELECTION, ChangeKind.REASSIGNMENT),
    "coordinator-stuck": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "leader-balance": (ChangeKind.ELECTION,),
    "metadata-divergence": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "move-replicas": (ChangeKind.REASSIGNMENT,),
    "raise-offsets-rf": (ChangeKind.REASSIGNMENT,),
    "raise-topic-rf": (ChangeKind.REASSIGNMENT,),
    "replace-broker": (ChangeKind.REASSIGNMENT,),
    "spread-replicas": (ChangeKind.REASSIGNMENT,),
    "unclean-election": (ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION),
}

#: Leaders and replicas have to stay where they are.
NO_MOVES: Final = Ban((ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION, ChangeKind.REASSIGNMENT))
#: What the next controller reads from ZooKeeper is not what it should read.
NO_OTHER_CONTROLLER: Final = Ban((ChangeKind.CONTROLLER_ELECTION,))
#: Nothing is wrong with Kafka itself.
NO_CHANGES: Final = Ban((*NO_MOVES.changes, ChangeKind.RESTART))
#: Nor is a broker that starts let in.
NOTHING_AT_ALL: Final = Ban((*NO_CHANGES.changes, ChangeKind.START))


def no_election(tps: Iterable[TopicPartition]) -> Ban:
    return Ban((ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION), frozenset(tps))


def no_unclean_election(tps: Iterable[TopicPartition]) -> Ban:
    return Ban((ChangeKind.UNCLEAN_ELECTION,), frozenset(tps))


def no_restart(brokers: Iterable[int]) -> Ban:
    return Ban((ChangeKind.RESTART,), brokers=frozenset(brokers))


def no_start(brokers: Iterable[int]) -> Ban:
    return Ban((ChangeKind.START,), brokers=frozenset(brokers))


def no_registration(brokers: Iterable[int]) -> Ban:
    """None of these brokers may register: neither by a restart nor because it is repaired."""
    return Ban((ChangeKind.RESTART, ChangeKind.REGISTRATION), brokers=frozenset(brokers))


def starts(remedy: Remedy, brokers: Iterable[int]) -> Remedy:
    """Returns a remedy that is known to start these brokers."""
    return replace(remedy, changes=(*remedy.changes, ChangeKind.START), brokers=tuple(brokers))


def registers(remedy: Remedy, brokers: Iterable[int]) -> Remedy:
    """Returns a remedy after which these brokers, which run, register again."""
    return replace(remedy, changes=(*remedy.changes, ChangeKind.REGISTRATION), brokers=tuple(brokers))


def no_move(brokers: Iterable[int]) -> Ban:
    """Their replicas have to stay where they are."""
    return Ban((ChangeKind.REASSIGNMENT,), brokers=frozenset(brokers))


def no_move_of(tps: Iterable[TopicPartition]) -> Ban:
    """The replicas of these partitions have to stay where they are."""
    return Ban((ChangeKind.REASSIGNMENT,), frozenset(tps))


def moves_from(remedy: Remedy, brokers: Iterable[int]) -> Remedy:
    """Returns a remedy that is known to move the replicas of these brokers."""
    return replace(remedy, changes=(*remedy.changes, ChangeKind.REASSIGNMENT), brokers=tuple(brokers))


def moves(text: str) -> Remedy:
    """Returns a remedy that reassigns replicas."""
    return Remedy(text, changes=(ChangeKind.REASSIGNMENT,))


def unclean_election(text: str) -> Remedy:
    """Returns a remedy that elects a replica outside the ISR by hand."""
    return Remedy(text, changes=CHANGES_OF["unclean-election"])


def another_controller(text: str) -> Remedy:
    """Returns a remedy that makes another controller take over, which elects leaders wherever it can."""
    return Remedy(text, changes=CHANGES_OF["controller-reelect"])


def restart(text: str, *brokers: int) -> Remedy:
    """Returns a remedy that restarts these brokers, or all of them in turn if none is named."""
    return Remedy(text, changes=(ChangeKind.RESTART,), brokers=brokers)
