"""What findings forbid while they last, and remedies that another finding may forbid (`holding`)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from kfix.core.diagnosis.finding import Ban, ChangeKind, Remedy
from kfix.core.snapshot.snapshot import TopicPartition

#: What the runbooks do to leaders, replicas and brokers. One that only asks a person, or a coordinator, does none.
CHANGES_OF: Final[Mapping[str, tuple[ChangeKind, ...]]] = {
    "cancel-reassignment": (ChangeKind.REASSIGNMENT,),
    "controller-reelect": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "coordinator-failed": (ChangeKind.ELECTION, ChangeKind.REASSIGNMENT),
    "coordinator-not-answering": (ChangeKind.ELECTION, ChangeKind.REASSIGNMENT),
    "coordinator-stuck": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "durable-defaults": (ChangeKind.SETTING,),
    "hold-retention": (ChangeKind.SETTING,),
    "leader-balance": (ChangeKind.ELECTION,),
    "metadata-divergence": (ChangeKind.ELECTION, ChangeKind.CONTROLLER_ELECTION),
    "move-replicas": (ChangeKind.REASSIGNMENT,),
    "raise-offsets-rf": (ChangeKind.REASSIGNMENT,),
    "raise-topic-rf": (ChangeKind.REASSIGNMENT,),
    "replace-broker": (ChangeKind.REASSIGNMENT,),
    "spread-replicas": (ChangeKind.REASSIGNMENT,),
    "sweep-throttles": (ChangeKind.SETTING,),
    "unclean-election": (ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION),
}

#: Leaders and replicas have to stay where they are.
NO_MOVES: Final = Ban((ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION, ChangeKind.REASSIGNMENT))
#: What the next controller reads from ZooKeeper is not what it should read.
NO_OTHER_CONTROLLER: Final = Ban((ChangeKind.CONTROLLER_ELECTION,))
#: Nothing is wrong with Kafka itself.
NO_CHANGES: Final = Ban((*NO_MOVES.changes, ChangeKind.SETTING, ChangeKind.RESTART))
#: Nor is a broker that starts let in.
NOTHING_AT_ALL: Final = Ban((*NO_CHANGES.changes, ChangeKind.START))


def _of_partitions(*changes: ChangeKind) -> Callable[[Iterable[TopicPartition]], Ban]:
    return lambda tps: Ban(changes, frozenset(tps))


def _of_brokers(*changes: ChangeKind) -> Callable[[Iterable[int]], Ban]:
    return lambda brokers: Ban(changes, brokers=frozenset(brokers))


def _known_to(change: ChangeKind) -> Callable[[Remedy, Iterable[int]], Remedy]:
    """Returns what adds to a remedy that it makes this change to some brokers."""
    return lambda remedy, brokers: replace(remedy, changes=(*remedy.changes, change), brokers=tuple(brokers))


no_election = _of_partitions(ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION)
no_unclean_election = _of_partitions(ChangeKind.UNCLEAN_ELECTION)
#: The replicas of these partitions have to stay where they are; then, those of these brokers.
no_move_of, no_move = _of_partitions(ChangeKind.REASSIGNMENT), _of_brokers(ChangeKind.REASSIGNMENT)
no_restart, no_start = _of_brokers(ChangeKind.RESTART), _of_brokers(ChangeKind.START)
#: None of these brokers may register: neither by a restart nor because it is repaired.
no_registration = _of_brokers(ChangeKind.RESTART, ChangeKind.REGISTRATION)

#: A remedy that is known to start these brokers, after which they, which run, register again, or that moves their
#: replicas.
starts, registers = _known_to(ChangeKind.START), _known_to(ChangeKind.REGISTRATION)
moves_from = _known_to(ChangeKind.REASSIGNMENT)


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
