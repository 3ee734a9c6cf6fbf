"""What a source of a snapshot declares, and the scheduler that reads all sources after the brokers have answered.

The declarations are in `sources.py` (docs/adr/054-a-source-is-declared-once.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.quorum import QuorumQuestion
from kfix.core.collect.tasks import Brokers, Questions, Task
from kfix.core.kafka.group_messages import ListedGroup
from kfix.core.ledger import Ledger
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, Mode, ZooKeeperView
from kfix.core.target import Target

V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class LiveSource(Generic[V_co]):
    """One source. `read` returns the value of the snapshot's field `fills`, "" if only other sources use it.

    It starts when the sources in `needs` have ended: `known[other]` is the value of such a one.
    """

    read: Callable[[Known], V_co]
    fills: str
    needs: tuple[LiveSource[Any], ...]


def source(
    fills: str = "", needs: tuple[LiveSource[Any], ...] = ()
) -> Callable[[Callable[[Known], V_co]], LiveSource[V_co]]:
    """Declares the function as a source."""
    return lambda read: LiveSource(read, fills, needs)


@dataclass(frozen=True, slots=True)
class Known:
    """What the sources may use: the answers of the first round, and those of the sources that one needs.

    `brokers` are those that responded, `answers` their answers, `views` their metadata, and `live` those that count as
    alive. `zookeeper` is None without ZooKeeper, `quorum` without KRaft. `fenced` are the registered brokers that are
    not alive, None if no broker reports them.
    """

    brokers: Brokers
    target: Target
    options: CollectOptions
    ledger: Ledger
    mode: Mode
    taken_at: float
    answers: Mapping[int, BrokerAnswers]
    addresses: Mapping[int, Endpoint]
    views: Mapping[int, BrokerView]
    live: frozenset[int]
    record: ClusterRecord | None
    memory: Memory
    zookeeper: ZooKeeperView | None = None
    quorum: QuorumQuestion | None = None
    fenced: Mapping[int, Endpoint] | None = None
    _values: Mapping[LiveSource[Any], Any] = field(default_factory=dict)

    def __getitem__(self, needed: LiveSource[V_co]) -> V_co:
        """Returns the value of a source that is needed. Raises KeyError if it was not declared."""
        value: V_co = self._values[needed]
        return value

    def with_values(self, values: Mapping[LiveSource[Any], Any]) -> Known:
        return replace(self, _values=values)

    @property
    def listed(self) -> dict[int, tuple[ListedGroup, ...]]:
        """Returns {broker: the groups that it lists}, without the brokers that refused."""
        return {b: answer.groups for b, answer in self.answers.items() if answer.groups is not None}


def read_all(sources: Iterable[LiveSource[Any]], known: Known) -> dict[str, Any]:
    """Reads the sources and those that they need, as many at once as their needs allow. Returns {field: value}.

    A source has no deadline of its own: each of its requests ends at the deadline of `known.brokers`.
    """
    tasks: dict[LiveSource[Any], Task[Any]] = {}
    aside = Questions()

    def start(each: LiveSource[Any]) -> Task[Any]:
        if each not in tasks:
            needed = {need: start(need) for need in each.needs}
            tasks[each] = aside.start(each.fills, partial(_read, each, known, needed))
        return tasks[each]

    started = [start(each) for each in sources]
    values = {each.fills: task.outcome() for each, task in zip(sources, started, strict=True)}
    values.pop("", None)
    return values


def _read(each: LiveSource[V_co], known: Known, needed: Mapping[LiveSource[Any], Task[Any]]) -> V_co:
    return each.read(known.with_values({need: task.outcome() for need, task in needed.items()}))
