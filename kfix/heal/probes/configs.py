"""Probes about the own settings of topics and brokers."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import probe
from kfix.heal.probes.resources import THROTTLES, Resource, own_texts, resource_probe


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


@probe(
    "the topic's own settings of compaction are these",
    {"topic": ArgKind.TOPIC, **dict.fromkeys(COMPACTION, ArgKind.TEXT)},
)
def compaction_is(args: Args, reader: ClusterReader) -> Answer:
    """The topic's own settings of compaction are these; `(absent)` means that it has none."""
    wanted = tuple(args.text(name) for name in COMPACTION)
    found = own_texts(reader, ResourceKind.TOPIC, args.text("topic"), tuple(COMPACTION.values()))
    return judge(found == wanted, _shown(found), _shown(wanted))


def _shown(values: tuple[str, ...]) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(COMPACTION.values(), values, strict=True))
