"""A consumer group of the in-memory cluster, with its members one by one, and the rebalance that one of them holds.

As in Kafka 2.7.1 (docs/facts/consumer-groups.md): the coordinator waits until every known member has joined again.
"""

from dataclasses import dataclass, field

from kfix.core.snapshot.group_reading import GroupMember, GroupMembers, LastGeneration
from kfix.core.snapshot.reading import ChangeResult

_DONE = ChangeResult(0, "NONE")


@dataclass(slots=True)
class MemoryGroup:
    """`waiting` are the ids of members that have joined again; `generation` and `last` are the log's."""

    name: str
    members: dict[str, GroupMember] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    generation: int = 0
    last: frozenset[str] = frozenset()
    state: str = "Empty"

    def settle(self, *members: GroupMember) -> None:
        """These members join an empty group and get an assignment."""
        self.members = {each.id: each for each in members}
        self._complete()

    def rebalance(self, *new: GroupMember, again: tuple[str, ...] = ()) -> None:
        """New members join; of the old ones only `again` do."""
        self.members |= {each.id: each for each in new}
        self.waiting = {each.id for each in new}
        self.state = "PreparingRebalance"
        self.join_again(*again)

    def join_again(self, *members: str) -> None:
        self.waiting |= set(members)
        self._complete_if_all_joined()

    def leave(self, member: str, instance: str) -> ChangeResult:
        static = next((each for each in self.members.values() if instance and each.instance == instance), None)
        if static is not None and static.id != member:
            return ChangeResult(82, "FENCED_INSTANCE_ID", f"member {instance}")
        if member not in self.members:
            return ChangeResult(25, "UNKNOWN_MEMBER_ID", f"member {instance or member}")
        del self.members[member]
        self.waiting.discard(member)
        self._complete_if_all_joined()
        return _DONE

    def described(self) -> GroupMembers:
        return GroupMembers(self.name, self.state, tuple(self.members.values()))

    def logged(self) -> LastGeneration:
        return LastGeneration(self.generation, self.last) if self.last else LastGeneration()

    def _complete_if_all_joined(self) -> None:
        if self.waiting >= self.members.keys():
            self._complete()

    def _complete(self) -> None:
        self.generation += 1
        self.last, self.waiting = frozenset(self.members), set()
        self.state = "Stable" if self.members else "Empty"
