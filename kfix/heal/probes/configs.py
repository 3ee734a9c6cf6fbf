"""Probes about the own settings of topics and brokers."""

from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, ArgKind, Args, coerce
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.numbers import broker_id
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ConfigValue, ResourceKind
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact
from kfix.heal.probes.base import Probe, probe

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


@resource_probe("the topic or broker itself sets the key to this value", key=ArgKind.TEXT, value=ArgKind.TEXT)
def config_is(args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    """The resource itself sets this value, or sets none where the value is `(absent)`; a default does not count."""
    kind, name = resource
    key, wanted = args.text("key"), args.text("value")
    (found,) = own_texts(reader, kind, name, (key,))
    return judge(found == wanted, f"{kind} {name}: {key} {found}", f"{key} {wanted}")


@resource_probe("the topic or broker sets no replication throttle")
def no_throttles(_args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    """No replication throttle is set there: a left-over one can keep a replica out of the ISR forever."""
    kind, name = resource
    keys = THROTTLES[kind]
    found = dict(zip(keys, own_texts(reader, kind, name, keys), strict=True))
    # An empty list of throttled replicas throttles nothing.
    left = [f"{key} {value}" for key, value in found.items() if value not in {ABSENT, ""}]
    return judge(not left, f"{kind} {name}: {'; '.join(left) or 'none'}", "no replication throttle set")


@resource_probe(
    "the leader's and the follower's replication throttle of the topic or broker are exactly these",
    leader=ArgKind.TEXT,
    follower=ArgKind.TEXT,
)
def throttles_are(args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    """The replication throttles of a topic or a broker are exactly these; `(absent)` means that none is set."""
    kind, name = resource
    found = own_texts(reader, kind, name, THROTTLES[kind])
    wanted = (args.text("leader"), args.text("follower"))
    return judge(found == wanted, f"{kind} {name}: {_throttle_words(found)}", _throttle_words(wanted))


def _throttle_words(values: tuple[str, ...]) -> str:
    return f"leader throttle {values[0]}, follower throttle {values[1]}"


#: {argument: key of a topic}.
COMPACTION: Mapping[str, str] = {
    "segment_ms": "segment.ms",
    "dirty_ratio": "min.cleanable.dirty.ratio",
    "most_lag": "max.compaction.lag.ms",
    "least_lag": "min.compaction.lag.ms",
    "delete_retention": "delete.retention.ms",
}
RETENTION: Mapping[str, str] = {"retention_ms": "retention.ms", "retention_bytes": "retention.bytes"}


@probe(
    "the topic's own settings of compaction are these",
    {"topic": ArgKind.TOPIC, **dict.fromkeys(COMPACTION, ArgKind.TEXT)},
)
def compaction_is(args: Args, reader: ClusterReader) -> Answer:
    """The topic's own settings of compaction are these; `(absent)` means that it has none."""
    return _are(COMPACTION, args, reader)


@probe("the topic's own retention is this", {"topic": ArgKind.TOPIC, **dict.fromkeys(RETENTION, ArgKind.TEXT)})
def retention_is(args: Args, reader: ClusterReader) -> Answer:
    """The topic's own retention.ms and retention.bytes are these; `(absent)` means that it has none."""
    return _are(RETENTION, args, reader)


def _are(keys: Mapping[str, str], args: Args, reader: ClusterReader) -> Answer:
    wanted = tuple(args.text(name) for name in keys)
    found = own_texts(reader, ResourceKind.TOPIC, args.text("topic"), tuple(keys.values()))
    return judge(found == wanted, _shown(keys, found), _shown(keys, wanted))


def _shown(keys: Mapping[str, str], values: tuple[str, ...]) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(keys.values(), values, strict=True))
