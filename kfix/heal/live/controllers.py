"""The active controller of a KRaft quorum, asked at the controllers' own listeners (docs/facts/kraft.md).

Only the active controller answers DescribeQuorum without an error. A frozen or isolated controller may still do so: its
answer counts only if a majority of the voters has fetched from it just now. A broker forwards to the controller that it
believes to be active, so kfix asks a broker only if it can reach no controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kfix.core.collect.quorum import describe_at
from kfix.core.collect.quorum_rows import unsustained
from kfix.core.errors import UnreachableError
from kfix.core.kafka import kraft_messages, requests
from kfix.core.kafka.batches import batches_in
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.codes import missing_right, name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.kraft_messages import DescribedQuorum
from kfix.core.kafka.metadata_records import registered_in
from kfix.core.kafka.questions import ask_configs_of
from kfix.core.kafka.records import UnreadBatchError, records, require_readable
from kfix.core.kafka.security import Security
from kfix.core.snapshot.reading import ConfigValue, NodeName, ResourceKind, StartMark
from kfix.core.snapshot.snapshot import Assignment, Endpoint, TopicPartition
from kfix.core.timing import Deadline

T = TypeVar("T")
#: Timeout in seconds for a request that a broker forwards to the active controller.
_FORWARDED = 2.0
#: Seconds between two rounds while an election may be under way.
_BETWEEN = 0.2
_LEAST_LEFT = 0.5
#: Bytes of the metadata log in one answer.
_PIECE = 1 << 20


class Controllers:
    """Connections to the controllers; the last active one is asked first."""

    def __init__(self, security: Security, endpoints: Iterable[Endpoint]) -> None:
        self._security = security
        self._lines = {e: BrokerConnection(e, security, controller=True) for e in endpoints}
        self._last: Endpoint | None = None

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def active(self, deadline: Deadline, brokers: Sequence[BrokerConnection]) -> DescribedQuorum:
        """Returns the quorum by its active controller. Raises UnreachableError if none answers in time.

        It asks `brokers` only if no listener of a controller can be reached.
        """
        self._last, first, why = None, self._last, "no address of a controller is known"
        if first is not None:
            found = self._ask(first, deadline.within(deadline.left / 3))
            if isinstance(found, DescribedQuorum) and not (why := unsustained(found)):
                self._last = first
                return found
        while True:
            answers = self._round(deadline.within(deadline.left / 2))
            good = {e: a for e, a in answers.items() if isinstance(a, DescribedQuorum) and not unsustained(a)}
            if good:
                self._last = max(good, key=lambda e: good[e].epoch)
                return good[self._last]
            if not any(isinstance(a, DescribedQuorum) for a in answers.values()):
                through = self._through(brokers, deadline)
                if isinstance(through, DescribedQuorum) and not unsustained(through):
                    return through
                found = [each for each in (_why(answers) or why, f"through a broker: {_fault(through)}") if each]
                raise UnreachableError(f"no active controller answers ({'; '.join(found)})")
            why = _why(answers)
            if deadline.left < _LEAST_LEFT:
                raise UnreachableError(f"no active controller answers ({why})")
            time.sleep(_BETWEEN)

    def reassignments(
        self, deadline: Deadline, brokers: Sequence[BrokerConnection]
    ) -> dict[TopicPartition, Assignment]:
        """Returns the moves in progress from the controller that `active` found, or else through a broker."""
        lines = [self._lines[self._last]] if self._last is not None else list(brokers[:1])
        if not lines:
            raise UnreachableError("no active controller answers, so reassignments cannot be read")
        until = deadline.within(_FORWARDED)
        error, found = lines[0].call(requests.list_reassignments(), until)
        if error:
            raise UnreachableError(f"{lines[0].endpoint}: reassignments: {name_of(error)}")
        return found

    @property
    def active_endpoint(self) -> Endpoint:
        """The listener of the controller that `active` found. Raises UnreachableError if only a broker answered."""
        if self._last is None:
            raise UnreachableError(
                "no listener of a controller can be reached: give --bootstrap-controller with their addresses"
            )
        return self._last

    def registered(self, deadline: Deadline) -> dict[int, Endpoint]:
        """Returns {controller: address} of all that have registered, voters or not, from the active controller."""
        line, api = self._lines[self.active_endpoint], kraft_messages.DESCRIBE_CLUSTER
        if not line.supports(api, kraft_messages.OWN_CLUSTER, deadline):
            raise UnreachableError(f"{line.endpoint}: does not report which controllers are registered (3.7 and later)")
        found = line.call(kraft_messages.describe_own_cluster(), deadline)
        if found.error:
            why = f"{line.endpoint}: controllers: {name_of(found.error)}"
            raise UnreachableError(with_right(why, api, self._security.principal))
        return {each.broker: each.endpoint for each in found.brokers}

    def topic_configs(self, topic: str, keys: tuple[str, ...], deadline: Deadline) -> dict[str, ConfigValue]:
        """Returns a topic's settings from the controller that `active` found, which elects by them.

        Empty if that controller cannot be asked itself, or has no such request (before KIP-919): a broker would answer
        with its own defaults. Raises UnreachableError if it refuses, or the topic does not exist.
        """
        line = None if self._last is None else self._lines[self._last]
        if line is None or not line.supports(requests.DESCRIBE_CONFIGS, 1, deadline):
            return {}
        return ask_configs_of(line, ResourceKind.TOPIC, topic, keys, deadline)

    def starts_since(self, mark: StartMark, active: DescribedQuorum, deadline: Deadline) -> dict[NodeName, int]:
        """Returns the registrations in the metadata log since the mark, from the controller that `active` found."""
        line, found = self._lines[self.active_endpoint], dict[NodeName, int]()
        at, epoch = mark.number, mark.epoch
        while at < active.high_watermark:
            answer = line.call(kraft_messages.fetch_metadata(active.epoch, at, epoch, _PIECE), deadline)
            why = name_of(answer.error) if answer.error else ""
            if why:
                right = missing_right(kraft_messages.FETCH_METADATA, answer.error, self._security.principal)
                why = f"{why} ({right})" if right else why
            before = at
            for batch, raw in batches_in(answer.batches):
                try:
                    require_readable(batch)
                    for record in () if batch.control else records(batch, raw):
                        offset = batch.base + record.delta
                        if offset >= mark.number and (node := registered_in(record)) is not None:
                            found[node] = offset
                except (UnreadBatchError, ProtocolError) as problem:
                    why = f"the batch of offsets {batch.base} to {batch.last}: {problem}"
                at, epoch = batch.last + 1, batch.epoch
            if why or at == before:
                what = f"the metadata log from offset {before} on was not read"
                raise UnreachableError(f"{line.endpoint}: {what}: {why or 'it has a snapshot there instead'}")
        return found

    def _ask(self, endpoint: Endpoint, deadline: Deadline) -> DescribedQuorum | UnreachableError:
        return _caught(lambda: describe_at(self._lines[endpoint], deadline))

    def _round(self, deadline: Deadline) -> dict[Endpoint, DescribedQuorum | UnreachableError]:
        with ThreadPoolExecutor(max_workers=max(1, len(self._lines))) as pool:
            return dict(zip(self._lines, pool.map(lambda e: self._ask(e, deadline), self._lines), strict=True))

    def _through(self, brokers: Sequence[BrokerConnection], deadline: Deadline) -> DescribedQuorum | UnreachableError:
        if not brokers:
            return UnreachableError("no broker answers")
        return _caught(lambda: describe_at(brokers[0], deadline.within(_FORWARDED)))


def _caught(ask: Callable[[], T]) -> T | UnreachableError:
    try:
        return ask()
    except UnreachableError as error:
        return error


def _why(answers: Mapping[Endpoint, DescribedQuorum | UnreachableError]) -> str:
    found = [
        f"{endpoint}: {_fault(answer)}" if isinstance(answer, DescribedQuorum) else str(answer)
        for endpoint, answer in answers.items()
    ]
    return "; ".join(dict.fromkeys(found))


def _fault(answer: DescribedQuorum | UnreachableError) -> str:
    return unsustained(answer) if isinstance(answer, DescribedQuorum) else str(answer)
