"""The replication throttles of a topic or a broker are exactly these; `(absent)`: none is set."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.configs.resource import PARAMS, THROTTLES, own_texts, resource_of


def freeze(args: Args, _read: ReadFact) -> Args:
    resource_of(args)
    return args


def ask(args: Args, reader: ClusterReader) -> Answer:
    kind, name = resource_of(args)
    found = own_texts(reader, kind, name, THROTTLES[kind])
    wanted = (args.text("leader"), args.text("follower"))
    return judge(found == wanted, f"{kind} {name}: {_words(found)}", _words(wanted))


def _words(values: tuple[str, ...]) -> str:
    return f"leader throttle {values[0]}, follower throttle {values[1]}"


PROBE = Probe(
    name="throttles_are",
    summary="leader's and follower's replication throttle of the topic or broker are exactly these",
    params={**PARAMS, "leader": ArgKind.TEXT, "follower": ArgKind.TEXT},
    freeze=freeze,
    ask=ask,
)
