"""The quorum of an in-memory KRaft cluster whose voters may change, as its active controller answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.core.snapshot.quorum import QuorumReplica
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.voters import Joining, QuorumVoters

_HIGH = 1000
_LATE = 60.0


@dataclass
class MemoryQuorum:
    """`voters` is {node: directory id}, `running` {controller: the directory id of the disk that it runs with}.

    A voter whose controller runs with another disk, or not at all, is dead. `lagging` have not caught up. The first
    `not_ready` requests to add a voter are answered as Kafka does while it does not reach a controller yet.
    """

    voters: dict[int, str] = field(default_factory=dict)
    running: dict[int, str] = field(default_factory=dict)
    lagging: set[int] = field(default_factory=set)
    not_ready: int = 0

    def read(self, leader: int) -> QuorumVoters:
        voters = tuple(self._replica(node, directory) for node, directory in sorted(self.voters.items()))
        running = sorted(self.running.items())
        observers = tuple(self._replica(*each) for each in running if self.voters.get(each[0]) != each[1])
        addresses = {node: f"CONTROLLER://controller{node}.example:9093" for node in (*self.voters, *self.running)}
        return QuorumVoters(leader, _HIGH, voters, observers, addresses)

    def remove(self, node: int, directory: str) -> ChangeResult:
        """Removes any voter, also a live one."""
        if self.voters.get(node) != directory:
            return ChangeResult(127, "VOTER_NOT_FOUND", f"Cannot remove voter {node}: it is not in the set of voters")
        del self.voters[node]
        return ChangeResult(0, "NONE")

    def add(self, wanted: Joining) -> ChangeResult:
        if self.not_ready:
            self.not_ready -= 1
            return ChangeResult(41, "NOT_SENT", f"New voter {wanted.node} is not ready to receive requests")
        if wanted.node in self.voters:
            return ChangeResult(126, "DUPLICATE_VOTER", f"The voter id for {wanted.node} is already part of the set")
        self.voters[wanted.node] = wanted.directory
        return ChangeResult(0, "NONE")

    def _replica(self, node: int, directory: str) -> QuorumReplica:
        alive, late = self.running.get(node) == directory, node in self.lagging
        end = _HIGH if alive and not late else _HIGH - 500
        return QuorumReplica(node, end, 0.2 if alive else _LATE, 0.2 if alive and not late else _LATE, directory)
