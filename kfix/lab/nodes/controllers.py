"""The controllers of a KRaft quorum as the keepers of a lab's record."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kfix.core.disk.checkpoints import META, read_meta
from kfix.core.errors import UnreachableError
from kfix.lab.definition.properties import CONTROLLER
from kfix.lab.definition.state import no_such
from kfix.lab.nodes.authority import Authority
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.core.kafka.kraft_messages import DescribedQuorum
    from kfix.core.kafka.security import Security
    from kfix.lab.clients.access import LabClient
    from kfix.lab.clients.asking_controllers import QuorumState
    from kfix.lab.definition.state import LabState, Node


class ControllerQuorum(Authority):
    role = "controller"
    title = "the KRaft quorum"
    buries = "the active controller fences them"
    buried = "the active controller has fenced it"

    def prepare(self, nodes: Iterable[Node], role: str = "broker") -> None:
        self.nodes.format_disks(self.state, role, nodes)

    def serves(self, numbers: frozenset[int] | None) -> bool:
        """A controller is active, and all of these fetch from it or are active; without an alive majority no controller
        can be active, and it is enough that each answers.
        """
        wanted = frozenset(self.addresses()) if numbers is None else numbers
        if not self._majority(self.state):
            return self._answer(wanted)
        active = self.active()
        if active is None or not all(active.log_ends.get(number, -1) >= 0 for number in wanted):
            return False
        return self._answer(wanted)

    def revive(self) -> Iterator[str]:
        nodes, state = self.nodes, self.state
        for number in nodes.those_in(state, self.role, "stopped"):
            nodes.cont(state, number, self.role)
            yield f"continued controller {number}"
        dead = nodes.those_in(state, self.role, "dead")
        self.start(dead)
        if dead:
            yield f"started controller {' and '.join(map(str, dead))}"
        # One that is combined with a dead or stopped broker comes back with it.
        if self.buries_now():
            self.wait(self._alive(state))

    def client(self, addresses: Callable[[], Mapping[int, str]]) -> LabClient:
        from kfix.lab.clients.quorum import QuorumClient  # noqa: PLC0415 - loads the client libraries

        return QuorumClient(self.addresses(), addresses, self._security())

    def buries_now(self) -> bool:
        """Only an active controller fences a dead broker, and it needs a majority of the voters."""
        return self._majority(self.state)

    def addresses(self) -> dict[int, str]:
        """Returns {controller: host:port}."""
        state = self.state
        return {each.id: state.address_of(each) for each in state.controllers}

    def active(self) -> QuorumState | None:
        """Returns what the active controller answers; None if no controller answers as the active one."""
        from kfix.lab.clients.asking_controllers import active_controller  # noqa: PLC0415 - brings the protocol code

        return active_controller(self.addresses(), security=self._security())

    def _security(self) -> Security:
        from kfix.lab.security.files import controller_security  # noqa: PLC0415 - brings the protocol code

        return controller_security(self.state)

    def replace_voter(self, number: int) -> tuple[str, str]:
        """Removes the voter of a controller that runs with another disk by now, then adds it with that one.

        Returns the directory ids of both disks.
        """
        from kfix.core.collect.quorum_rows import directory_text  # noqa: PLC0415 - brings the protocol code
        from kfix.lab.clients.asking_controllers import add_voter  # noqa: PLC0415 - the same

        seen, old = self.remove_voter(number)
        wanted, nodes = self.directory_of(number), dict(seen.nodes)
        [new] = (each.directory for each in seen.observers if directory_text(each.directory) == wanted)
        at, listener = str(nodes[seen.leader]), (CONTROLLER, nodes[number])

        def added() -> bool:
            return self.voters().get(number) == wanted or add_voter(at, (number, new), listener, self._security())

        wait_for(f"controller {number} is added to the voters", added, 60)
        return old, wanted

    def remove_voter(self, number: int) -> tuple[DescribedQuorum, str]:
        """Removes the voter of a controller that runs with another disk, once it follows with that one.

        Returns the quorum as it was before, and the directory id of the voter.
        """
        from kfix.core.collect.quorum_rows import directory_text  # noqa: PLC0415 - brings the protocol code
        from kfix.lab.clients.asking_controllers import remove_voter  # noqa: PLC0415 - the same

        wanted = self.directory_of(number)

        def follows() -> DescribedQuorum | None:
            seen = self.members()
            return seen if seen is not None and self.observers().get(wanted, -1) >= seen.high_watermark - 1 else None

        seen = wait_for(f"controller {number} follows as an observer", follows, 30)
        [old] = (each.directory for each in seen.voters if each.node == number)
        remove_voter(str(dict(seen.nodes)[seen.leader]), (number, old), self._security())
        return seen, directory_text(old)

    def directory_of(self, number: int) -> str:
        """Returns the directory id of the disk that a controller has now."""
        return read_meta(self.nodes.disk_of(self.state, number, self.role) / META)[0].directory

    def voters(self) -> dict[int, str]:
        """Returns {voter: directory id} if a controller is active; the ids of a static quorum are empty."""
        from kfix.core.collect.quorum_rows import directory_text  # noqa: PLC0415 - brings the protocol code

        seen = self.members()
        return {each.node: directory_text(each.directory) for each in seen.voters} if seen is not None else {}

    def observers(self) -> dict[str, int]:
        """Returns {directory id: log end} of the observers, if a controller is active."""
        from kfix.core.collect.quorum_rows import directory_text  # noqa: PLC0415 - brings the protocol code

        seen = self.members()
        return {directory_text(each.directory): each.log_end for each in seen.observers} if seen is not None else {}

    def members(self) -> DescribedQuorum | None:
        """Returns what the active controller answers, with directory ids; None if none is active."""
        from kfix.lab.clients.asking_controllers import members_seen_by  # noqa: PLC0415 - brings the protocol code

        active = self.active()
        if active is None:
            return None
        seen = members_seen_by(self.addresses()[active.leader], self._security())
        return None if seen.error else seen

    def applied(self) -> dict[int, int]:
        """Returns {broker: offset up to which it has applied the quorum's log} of the brokers that answer."""
        from kfix.lab.clients.asking_controllers import applied_offset  # noqa: PLC0415 - brings the protocol code

        state, found = self.state, {}
        for broker in self.nodes.brokers_in(state, "alive"):
            node = state.broker(broker)
            assert node is not None
            with contextlib.suppress(UnreachableError):
                found[broker] = applied_offset(state.address_of(node))
        return found

    def role_of(self, number: int) -> str:
        """Returns the role of the process that controller runs in: `broker` where they are combined."""
        state = self.state
        if state.controller(number) is None:
            raise no_such(state, self.role, number)
        return "broker" if state.spec.combined else self.role

    def _alive(self, state: LabState) -> list[int]:
        role = "broker" if state.spec.combined else self.role
        return [each.id for each in state.controllers if self.nodes.condition(state, role, each.id) == "alive"]

    def _majority(self, state: LabState) -> bool:
        return 2 * len(self._alive(state)) > len(state.controllers)

    def _answer(self, wanted: frozenset[int]) -> bool:
        security = self._security()
        return all(_answers(address, security) for number, address in self.addresses().items() if number in wanted)


def _answers(address: str, security: Security) -> bool:
    from kfix.lab.clients.asking_controllers import quorum_seen_by  # noqa: PLC0415 - brings the protocol code

    try:
        quorum_seen_by(address, security=security)
    except UnreachableError:
        return False
    return True
