"""ZooKeeper's view on which its servers agree: read through one server, or another one if that is outvoted."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from kfix.core.errors import UnreachableError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import Endpoint, ZooKeeperView
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import Connect, open_line
from kfix.core.zookeeper.view import Unread, state_path, view_of
from kfix.core.zookeeper.witnesses import Contradiction, Witnesses

#: Most partitions that are compared because their record calls for an action.
_MOST_DOUBTFUL = 100


@dataclass(frozen=True, slots=True)
class Agreed:
    """`doubted` are the servers that a majority contradicts: {server: its different answer}."""

    cluster_id: str
    view: ZooKeeperView
    unread: Unread
    doubted: dict[str, str] = field(default_factory=dict)


def read_agreed(connect: Connect, protocol: str, deadline: Deadline, names: PartitionNames, ledger: Ledger) -> Agreed:
    """Returns the view of a server that no majority of the answering servers contradicts.

    Raises UnreachableError if no server answers, or if they contradict each other without a majority.
    """
    order = connect.servers
    doubted: dict[str, str] = {}
    while True:
        with open_line(replace(connect, servers=order), deadline, ledger) as line:
            rest = order[order.index(line.endpoint) + 1 :]
            with Witnesses(connect, rest, deadline, ledger) as witnesses:
                found, failure = None, None
                try:
                    found = view_of(line, connect, protocol, deadline, names)
                except UnreachableError as error:  # For example a server that was set up anew and is empty.
                    failure = error
                    if line.read_only or line.ended:
                        raise
                try:
                    agreeing, contradictions = witnesses.compare(line, _doubtful(found), deadline)
                except UnreachableError:
                    if failure is not None:  # It left responses unread, which an operator has to know.
                        raise failure from None
                    raise
            here, there = 1 + len(agreeing), len(contradictions)
            if here > there and failure is not None:
                raise failure
            if here > there and found is not None:
                outvoted = {str(each.other): _outvoted(each, line.endpoint) for each in contradictions}
                return Agreed(*found, doubted | outvoted)
            if here == there or doubted:
                raise _no_majority(line.endpoint, contradictions[0])
            first = contradictions[0]
            doubted[str(line.endpoint)] = _outvoted(
                Contradiction(line.endpoint, first.path, first.there, first.here), first.other
            )
            order = tuple(each.other for each in contradictions)


def _doubtful(found: tuple[str, ZooKeeperView, Unread] | None) -> list[str]:
    """Returns the paths of partitions whose record calls for an action, which a wrong server may have invented."""
    return [] if found is None else list(islice(_sick(found[1]), _MOST_DOUBTFUL))


def _sick(view: ZooKeeperView) -> Iterator[str]:
    for tp, state in view.states.items():
        assigned = view.assignments.get(tp)
        if state.leader < 0 or assigned is None or len(state.isr) < len(assigned.replicas):
            yield state_path(tp)
    few = {tp.topic for tp, each in view.assignments.items() if len(each.replicas) < 2}
    yield from (f"/brokers/topics/{topic}" for topic in sorted(few))


def _outvoted(found: Contradiction, right: Endpoint) -> str:
    return (
        f"it contradicts the other servers and is not used: {found.path} is {found.there} there, but {found.here} at "
        f"{right}"
    )


def _no_majority(server: Endpoint, found: Contradiction) -> UnreachableError:
    return UnreachableError(
        f"zookeeper {server} and {found.other} contradict each other, so neither is used: {found.path} is "
        f"{found.here} at {server}, but {found.there} at {found.other}",
        hint="find out which of them belong to the brokers' ensemble, and give only those: --zookeeper",
    )
