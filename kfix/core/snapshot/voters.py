"""The voters of a KRaft quorum, and the controllers that could become voters, as the active controller reports them.

Source of every rule here: docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kfix.core.snapshot.quorum import QuorumReplica

#: In seconds. A replica that runs fetches at least twice a second, and one that follows has everything with each fetch.
_FETCHES: Final = 1.5
_CAUGHT_UP: Final = 2.0
#: A voter that has not fetched for that long (seconds) is dead: the others would elect another leader after 2 s.
DEAD: Final = 5.0


class Joining(NamedTuple):
    """A controller that fetches as an observer, with the directory id of its disk.

    `address` is the one that it registered, such as CONTROLLER://host:9093; without the name of its listener, that is
    unknown.
    """

    node: int
    directory: str
    address: str


@dataclass(frozen=True, slots=True)
class QuorumVoters:
    """One answer of the active controller, which a majority of the voters follows.

    `controllers` is {controller: its address, as in `Joining`} of those that have registered, voters or not.
    """

    leader: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...] = ()
    controllers: Mapping[int, str] = field(default_factory=dict)

    @property
    def dynamic(self) -> bool:
        """Whether the voters may change (KIP-853): then each is known by the directory id of its disk, too."""
        return all(each.directory for each in self.voters)

    @property
    def joining(self) -> tuple[Joining, ...]:
        """Returns the controllers that fetch as observers. A removed voter stays in the list, and fetches no more."""
        return tuple(
            Joining(each.node, each.directory, self.controllers[each.node])
            for each in self.observers
            if each.node in self.controllers and each.directory and 0 <= each.fetched < DEAD
        )

    @property
    def following(self) -> tuple[int, ...]:
        """Returns the voters that the quorum can count on: the active controller, and those that have caught up."""
        return tuple(each.node for each in self.voters if each.node == self.leader or self.follows(each))

    def voter(self, node: int) -> QuorumReplica | None:
        return next((each for each in self.voters if each.node == node), None)

    def observer(self, node: int, directory: str) -> QuorumReplica | None:
        return next((each for each in self.observers if (each.node, each.directory) == (node, directory)), None)

    def follows(self, replica: QuorumReplica) -> bool:
        caught_up = replica.log_end >= self.high_watermark - 1 or 0 <= replica.caught_up < _CAUGHT_UP
        return 0 <= replica.fetched < _FETCHES and caught_up


def voters_text(voters: Iterable[QuorumReplica]) -> str:
    """Returns `100@DIRECTORY 101@DIRECTORY`; the voters of a static quorum have no directory ids."""
    return " ".join(f"{each.node}@{each.directory}" for each in sorted(voters))


def parsed_voters(text: str) -> dict[int, str]:
    """Returns {voter: directory id}, as `voters_text` wrote them."""
    found = (each.partition("@") for each in text.split())
    return {int(node): directory for node, _, directory in found}


def joining_text(joining: Iterable[Joining]) -> str:
    """Returns `102@DIRECTORY=CONTROLLER://host:port`, of several with a space between them."""
    return " ".join(f"{each.node}@{each.directory}={each.address}" for each in sorted(joining))


def parsed_joining(text: str) -> tuple[Joining, ...]:
    found = (each.partition("@") for each in text.split())
    parts = ((int(node), *rest.partition("=")) for node, _, rest in found)
    return tuple(Joining(node, directory, address) for node, directory, _, address in parts)
