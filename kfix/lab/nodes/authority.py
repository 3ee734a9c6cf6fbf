"""What keeps the record of a lab's cluster, behind one seam: ZooKeeper servers, or the controllers of a quorum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kfix.lab.definition.state import no_such
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import LabState, Node
    from kfix.lab.definition.store import Store
    from kfix.lab.nodes.nodes import Nodes

START_SECONDS = 90.0


class Authority(ABC):
    #: The role of its own processes, and how sentences name it.
    role: str
    title: str
    #: What becomes of a dead broker, and the same once it has happened.
    buries: str
    buried: str

    def __init__(self, store: Store, nodes: Nodes) -> None:
        self.store = store
        self.nodes = nodes

    @property
    def state(self) -> LabState:
        return self.store.load()

    # --- processes ------------------------------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, nodes: Iterable[Node], role: str = "broker") -> None:
        """Does what is needed before these can start."""

    def start_lab(self) -> None:
        """Starts all processes of a new lab, its brokers too: these wait for the others by themselves."""
        state = self.state
        for role in (self.role, "broker"):
            self.prepare(state.members(role), role)
            for node in state.members(role):
                self.nodes.start(state, role, node)

    def start(self, numbers: Iterable[int]) -> None:
        """Starts dead processes in parallel and returns when each of them serves."""
        wanted = self._known(numbers)
        for node in wanted:
            self.nodes.start(self.state, self.role, node)
        if wanted:
            self.wait([node.id for node in wanted])

    @abstractmethod
    def serves(self, numbers: frozenset[int] | None) -> bool:
        """Returns whether all of them serve, or those of `numbers`: as well as they can without an alive majority."""

    def wait(self, numbers: Iterable[int] | None = None, seconds: float = START_SECONDS) -> None:
        """Returns when all of its processes, or those of `numbers`, serve. Raises LabError after `seconds`."""
        chosen = None if numbers is None else frozenset(numbers)

        def serve() -> bool:
            if self.serves(chosen):
                return True
            state = self.state
            own = [each.id for each in state.members(self.role) if chosen is None or each.id in chosen]
            self.nodes.raise_if_dead(state, self.role, own)
            if chosen is None:
                self.nodes.raise_if_dead(
                    state, "broker", [each.id for each in state.processes if each.role == "broker"]
                )
            return False

        what = self.title if chosen is None else f"{self.role} {' and '.join(map(str, sorted(chosen)))}"
        wait_for(f"{what} serves", serve, seconds, hint="is the machine overloaded? see the lab's logs")

    @abstractmethod
    def revive(self) -> Iterator[str]:
        """Continues stopped processes, starts dead ones and waits until it serves; yields what it did."""

    def restart(self, numbers: Iterable[int]) -> None:
        """Shuts down those that are alive, then starts all of `numbers`, and returns when each of them serves."""
        wanted, state = self._known(numbers), self.state
        alive = [each.id for each in wanted if self.nodes.condition(state, self.role, each.id) != "dead"]
        self.nodes.shutdown(state, alive, self.role)
        self.start(node.id for node in wanted)

    def _known(self, numbers: Iterable[int]) -> list[Node]:
        """Raises UsageError if the lab has no process of its role with one of these numbers."""
        state = self.state
        known = {each.id: each for each in state.members(self.role)}
        wanted = tuple(numbers)
        for number in wanted:
            if number not in known:
                raise no_such(state, self.role, number)
        return [known[number] for number in wanted]

    # --- what it tells ----------------------------------------------------------------------------------------------

    @abstractmethod
    def client(self, addresses: Callable[[], Mapping[int, str]]) -> LabClient:
        """Returns a client of the cluster, to be used in a `with` statement."""

    @abstractmethod
    def buries_now(self) -> bool:
        """Returns whether it can notice that a broker has died."""
