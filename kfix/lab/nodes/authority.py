"""What keeps the record of a lab's cluster, behind one seam: ZooKeeper servers, or the controllers of a quorum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kfix.lab.definition.state import no_such

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import BrokerDef, LabState
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
    def start_lab(self) -> None:
        """Starts all processes of a new lab, its brokers too."""

    @abstractmethod
    def prepare(self, brokers: Iterable[BrokerDef]) -> None:
        """Does what is needed before these brokers can start."""

    @abstractmethod
    def start(self, numbers: Iterable[int]) -> None:
        """Starts dead processes in parallel and returns when each of them serves."""

    @abstractmethod
    def wait(self, numbers: Iterable[int] | None = None, seconds: float = START_SECONDS) -> None:
        """Returns when all of its processes, or those of `numbers`, serve. Raises LabError after `seconds`."""

    @abstractmethod
    def revive(self) -> Iterator[str]:
        """Continues stopped processes, starts dead ones and waits until it serves; yields what it did."""

    def restart(self, numbers: Iterable[int]) -> None:
        """Shuts down those that are alive, then starts all of `numbers`, and returns when each of them serves."""
        wanted = tuple(numbers)
        state = self.state
        known = {each.id for each in state.members(self.role)}
        for number in wanted:
            if number not in known:
                raise no_such(state, self.role, number)
        alive = [each for each in wanted if self.nodes.condition(state, self.role, each) != "dead"]
        self.nodes.shutdown(state, alive, self.role)
        self.start(wanted)

    # --- what it tells ----------------------------------------------------------------------------------------------

    @abstractmethod
    def client(self, addresses: Callable[[], Mapping[int, str]]) -> LabClient:
        """Returns a client of the cluster, to be used in a `with` statement."""

    @abstractmethod
    def buries_now(self) -> bool:
        """Returns whether it can notice that a broker has died."""
