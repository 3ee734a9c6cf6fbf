"""Topics and brokers as resources that have configuration: which one is meant, and which values it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, ArgKind, Args, coerce
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.numbers import broker_id
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ConfigValue, ResourceKind
from kfix.heal.model.answer import Answer
from kfix.heal.model.facts import ReadFact
from kfix.heal.probes.base import Probe

Resource = tuple[ResourceKind, str]
PARAMS: Mapping[str, ArgKind] = {"kind": ArgKind.TEXT, "name": ArgKind.TEXT}

#: The keys that limit replication: on a topic the throttled replicas, on a broker the bytes per second. The leaders'
#: key comes first, then the followers'.
THROTTLES: Mapping[ResourceKind, tuple[str, str]] = {
    ResourceKind.TOPIC: ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    ResourceKind.BROKER: ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
}


def resource_of(args: Args) -> Resource:
    """Returns the topic or broker that `kind` and `name` mean; raises RefusedError where they mean none."""
    kind, name = args.text("kind"), args.text("name")
    if kind not in tuple(ResourceKind):
        raise RefusedError(f"kind {kind!r}: only a topic or a broker has configuration of its own")
    if kind == ResourceKind.BROKER:
        if broker_id(name) is None:
            raise RefusedError(f"{name!r} is no broker id")
        return ResourceKind.BROKER, name
    try:
        return ResourceKind.TOPIC, str(coerce(ArgKind.TOPIC, name))
    except ValueError as error:
        raise RefusedError(f"{name!r} is no topic") from error


def own_value(found: ConfigValue | None, key: str) -> str | None:
    """Returns the resource's own value, None where a default is in force.

    Raises UnreachableError where Kafka hides the value: it is set, but unknown. A key that Kafka does not list is not
    set: a broker lists its throttle rates only where it has some.
    """
    if found is None or not found.own:
        return None
    if found.value is None:
        raise UnreachableError(f"{key} is set, but Kafka does not show its value")
    return found.value


def effective_value(found: ConfigValue | None, _key: str) -> str | None:
    """Returns the value in force, None where Kafka does not list the key or hides its value."""
    return None if found is None else found.value


def own_texts(reader: ClusterReader, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the resource's own values in the order of `keys`, ABSENT where it sets none itself."""
    found = reader.configs(kind, name, keys)
    values = (own_value(found.get(key), key) for key in keys)
    return tuple(ABSENT if value is None else value for value in values)


def frozen_resource(args: Args, _read: ReadFact) -> Args:
    """Returns the arguments as written; raises RefusedError where they mean no topic and no broker."""
    resource_of(args)
    return args


def resource_probe(
    summary: str, **params: ArgKind
) -> Callable[[Callable[[Args, Resource, ClusterReader], Answer]], Probe]:
    """A probe about the own configuration of one topic or one broker."""
    return lambda rule: Probe(
        rule.__name__,
        summary,
        lambda args, reader: rule(args, resource_of(args), reader),
        {**PARAMS, **params},
        freeze=frozen_resource,
    )
