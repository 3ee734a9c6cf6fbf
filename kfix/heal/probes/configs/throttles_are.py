"""The replication throttles of a topic or a broker are exactly these; `(absent)` means that none is set."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.configs.resource import THROTTLES, Resource, own_texts, resource_probe


def _rule(args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    kind, name = resource
    found = own_texts(reader, kind, name, THROTTLES[kind])
    wanted = (args.text("leader"), args.text("follower"))
    return judge(found == wanted, f"{kind} {name}: {_words(found)}", _words(wanted))


def _words(values: tuple[str, ...]) -> str:
    return f"leader throttle {values[0]}, follower throttle {values[1]}"


PROBE = resource_probe(
    "throttles_are",
    "the leader's and the follower's replication throttle of the topic or broker are exactly these",
    _rule,
    leader=ArgKind.TEXT,
    follower=ArgKind.TEXT,
)
