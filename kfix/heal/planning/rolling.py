"""The order in which the nodes of a cluster are restarted."""

from collections.abc import Iterable
from typing import NamedTuple

from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.derive.record import record_of
from kfix.core.errors import UnreachableError
from kfix.core.failures.scenarios import live_of, voters_of
from kfix.core.snapshot.reading import NodeName, NodeRole
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import Snapshot


class _Coordination(NamedTuple):
    """One partition of coordinators: its leader, and the in-sync replicas that may take over, first choice first."""

    leader: int
    heirs: tuple[int, ...]


def restart_order(snapshot: Snapshot) -> tuple[NodeName, ...]:
    """Returns all live brokers and all voters: brokers by rack, then controllers, and the active one at the very end.

    A node that is both is a broker, and comes with the controllers. Raises UnreachableError if brokers, record or
    active controller were not read.
    """
    case, record = open_case(snapshot), record_of(snapshot)
    active = None if record is None or record.controller is None else record.controller.node
    if record is None or active is None:
        raise UnreachableError("the active controller and the partitions were not read: there is no order of restarts")
    live, voters = live_of(case), voters_of(case)
    last = [active] if active in live or active in voters else []
    first = _by_rack(case, live - voters - {active}, _coordinations(record))
    middle = sorted(voters - {active})
    return tuple((NodeRole.BROKER if node in live else NodeRole.CONTROLLER, node) for node in (*first, *middle, *last))


def _coordinations(record: ClusterRecord) -> list[_Coordination]:
    found = []
    for tp, state in record.states.items():
        if tp.topic in INTERNAL_TOPICS and (assignment := record.assignments.get(tp)) is not None:
            heirs = tuple(b for b in assignment.replicas if b in state.isr)
            found.append(_Coordination(state.leader, heirs))
    return found


def _by_rack(case: CaseFile, brokers: Iterable[int], coordinations: list[_Coordination]) -> list[int]:
    """One rack after another. The next broker is the one whose coordinators have to move a second time least often.

    A coordinator moves to the first in-sync replica. If that is one of these brokers and was not restarted yet, it has
    to move again; the active controller, at the very end, moves it on once more at most.
    """
    left, order = set(brokers), list[int]()
    while left:
        rack = case.racks.get(order[-1]) if order else None
        same = {b for b in left if order and case.racks.get(b) == rack} or left
        chosen = min(same, key=lambda b: (_again(b, coordinations, left), b))
        coordinations = [_without(chosen, each) for each in coordinations]
        left.discard(chosen)
        order.append(chosen)
    return order


def _again(broker: int, coordinations: list[_Coordination], left: set[int]) -> int:
    """Returns how many coordinators on this broker would move to one that is still to be restarted."""
    return sum(each.leader == broker and _without(broker, each).leader in left for each in coordinations)


def _without(broker: int, each: _Coordination) -> _Coordination:
    heir = next((b for b in each.heirs if b != broker), broker)
    return each._replace(leader=heir) if each.leader == broker else each


def others_of(node: NodeName, order: Iterable[NodeName]) -> tuple[int, ...]:
    """Returns the brokers that stay up while this node is restarted."""
    return tuple(sorted(number for role, number in order if role is NodeRole.BROKER and (role, number) != node))
