"""What the actions that set configuration share: facts, the call itself, progress, and the way back of a throttle."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import ActionStatus
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.plan.args import ABSENT, Args
from kfix.model.plan.facts import Fact, ReadFact, about_config
from kfix.model.plan.plan import CheckCall, Risk, Undo
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.configs.resource import THROTTLES, own_texts, resource_of

Values = tuple[str, ...]


def text_of(fact: Fact) -> str:
    return ABSENT if fact.value is None else str(fact.value)


def throttles_now(kind: ResourceKind, name: str, read: ReadFact) -> tuple[str, str]:
    """(leader's, follower's) as the resource itself sets them."""
    leader, follower = (text_of(read(key)) for key in throttle_facts(kind, name))
    return leader, follower


def throttle_facts(kind: ResourceKind, name: str) -> Values:
    return about_config(kind, name, *THROTTLES[kind])


def put(changer: ClusterChanger, kind: ResourceKind, name: str, values: Mapping[str, str]) -> ChangeResult:
    """All keys in one call; what is ABSENT is taken away."""
    return changer.alter_configs(kind, name, {k: None if v == ABSENT else v for k, v in values.items()})


def pair(kind: ResourceKind, leader: str, follower: str) -> dict[str, str]:
    return dict(zip(THROTTLES[kind], (leader, follower), strict=True))


def progress(
    reader: ClusterReader, resource: tuple[ResourceKind, str], wanted: Mapping[str, str], before: Values
) -> ActionStatus:
    """`before` in the order of `wanted`. Kafka sets all keys of a resource or none."""
    try:
        now = own_texts(reader, *resource, tuple(wanted))
    except UnreachableError:
        return ActionStatus.UNKNOWN
    if now == tuple(wanted.values()):
        return ActionStatus.DONE
    return ActionStatus.NOT_STARTED if now == before else ActionStatus.UNKNOWN


def restoring(kind: ResourceKind, name: str, leader: str, follower: str) -> Undo:
    literal = {"kind": kind.value, "name": name, "leader": leader, "follower": follower}
    return Undo("throttle.restore", Args(literal))


def throttled(kind: ResourceKind, name: str, leader: str, follower: str) -> CheckCall:
    literal = {"kind": kind.value, "name": name, "leader": leader, "follower": follower}
    return CheckCall("throttles_are", Args(literal))


def registered(kind: ResourceKind, name: str) -> tuple[CheckCall, ...]:
    """A broker's configuration is set by that broker, and a throttle on a dead one hangs (KAFKA-13392)."""
    if kind is not ResourceKind.BROKER:
        return ()
    return (CheckCall("brokers_registered", Args({"brokers": (int(name),)})),)


def radius(args: Args) -> Risk:
    return Risk.ONE_TOPIC if resource_of(args)[0] is ResourceKind.TOPIC else Risk.ONE_BROKER
