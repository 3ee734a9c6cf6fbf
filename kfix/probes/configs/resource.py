"""Topics and brokers as things that have configuration: which one is meant, and what it says."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.errors import RefusedError, UnreachableError
from kfix.model.cluster.reading import ConfigValue, ResourceKind
from kfix.model.numbers import broker_id
from kfix.model.plan.args import ABSENT, ArgKind, Args, coerce
from kfix.ports import ClusterReader

PARAMS: Mapping[str, ArgKind] = {"kind": ArgKind.TEXT, "name": ArgKind.TEXT}

#: What limits replication: which replicas, on a topic; how many bytes a second, on a broker. First leaders', then
#: followers'.
THROTTLES: Mapping[ResourceKind, tuple[str, str]] = {
    ResourceKind.TOPIC: ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    ResourceKind.BROKER: ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
}


def resource_of(args: Args) -> tuple[ResourceKind, str]:
    """RefusedError where `kind` and `name` name no topic and no broker."""
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
    """None where a default is in force. UnreachableError where Kafka hides the value: it is set, to nobody knows what.

    What Kafka does not list is not set: a broker lists its throttle rates only where it has some.
    """
    if found is None or not found.own:
        return None
    if found.value is None:
        raise UnreachableError(f"{key} is set, but Kafka does not show its value")
    return found.value


def effective_value(found: ConfigValue | None, _key: str) -> str | None:
    """None where Kafka lists no such key, or shows no value for it."""
    return None if found is None else found.value


def own_texts(reader: ClusterReader, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of `keys`, ABSENT where the resource sets none itself."""
    found = reader.configs(kind, name, keys)
    values = (own_value(found.get(key), key) for key in keys)
    return tuple(ABSENT if value is None else value for value in values)
