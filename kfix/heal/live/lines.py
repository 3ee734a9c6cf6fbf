"""One connection per broker during a run. A failed one is reopened at the currently registered address."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kfix.core.errors import UnreachableError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline

T = TypeVar("T")


class BrokerLines:
    """Connections by broker id. `look_up` returns the registered address of a broker, or None if it is unknown."""

    def __init__(
        self, security: Security, addresses: Mapping[int, Endpoint], look_up: Callable[[int], Endpoint | None]
    ) -> None:
        self._security = security
        self._look_up = look_up
        self._lines = {b: BrokerConnection(e, security) for b, e in addresses.items()}

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def line(self, broker: int) -> BrokerConnection:
        known = self._lines.get(broker) or self.renewed(broker)
        if known is None:
            raise UnreachableError(f"broker {broker}: is not registered, or its address is unknown")
        return known

    def to(self, brokers: Iterable[int]) -> dict[int, BrokerConnection]:
        """Returns connections to the brokers with a known address."""
        found = {b: self._lines.get(b) or self.renewed(b) for b in brokers}
        return {b: line for b, line in found.items() if line is not None}

    def renewed(self, broker: int) -> BrokerConnection | None:
        """Returns a new connection to the registered or last known address, or None if there is none."""
        address = self.address(broker)
        if address is None:
            return None
        if broker in self._lines:
            self._lines[broker].close()
        self._lines[broker] = BrokerConnection(address, self._security)
        return self._lines[broker]

    def address(self, broker: int) -> Endpoint | None:
        """Returns the registered address, or the last known one."""
        known = self._lines.get(broker)
        return self._look_up(broker) or (None if known is None else known.endpoint)

    def ask(self, broker: int, ask: Callable[[BrokerConnection], T], deadline: Deadline) -> T:
        answer = self.ask_each((broker,), ask, deadline)[broker]
        if isinstance(answer, UnreachableError):
            raise answer
        return answer

    def ask_any(self, brokers: Sequence[int], ask: Callable[[BrokerConnection, Deadline], T], deadline: Deadline) -> T:
        """Asks the first broker whose connection works; a hung broker uses up only its share of the time."""
        error = UnreachableError("no registered broker is reachable")
        for asked, broker in enumerate(brokers):
            until = deadline.within(deadline.left / (len(brokers) - asked))
            try:
                return self.ask(broker, lambda line, until=until: ask(line, until), until)  # type: ignore[misc]
            except UnreachableError as failed:
                error = failed
                if broker in self._lines and self._lines[broker].is_open:
                    break
        raise error

    def ask_each(
        self, brokers: Iterable[int], ask: Callable[[BrokerConnection], T], deadline: Deadline
    ) -> dict[int, T | UnreachableError]:
        """Asks all brokers in parallel, and those that failed before the deadline once more over a new connection."""
        answers = self._round({b: self._lines.get(b) or self.renewed(b) for b in brokers}, ask)
        # A connection that is still open has responded, maybe with an error; asking again would not help.
        failed = [b for b, line in self._lines.items() if b in answers and _failed(answers[b]) and not line.is_open]
        if failed and deadline.left > 0:
            answers |= self._round({b: self.renewed(b) for b in failed}, ask)
        return answers

    def _round(
        self, asked: Mapping[int, BrokerConnection | None], ask: Callable[[BrokerConnection], T]
    ) -> dict[int, T | UnreachableError]:
        def one(broker: int) -> T | UnreachableError:
            line = asked[broker]
            if line is None:
                return UnreachableError(f"broker {broker}: is not registered, or its address is unknown")
            try:
                return ask(line)
            except UnreachableError as error:
                return error

        with ThreadPoolExecutor(max_workers=max(1, len(asked))) as pool:
            return dict(zip(asked, pool.map(one, asked), strict=True))


def _failed(answer: object) -> bool:
    return isinstance(answer, UnreachableError)
