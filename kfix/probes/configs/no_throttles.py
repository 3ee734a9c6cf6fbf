"""No replication throttle is set on the topic or broker: one left behind keeps a replica out of the ISR for ever."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ABSENT, Args
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.configs.resource import PARAMS, THROTTLES, own_texts, resource_of


def freeze(args: Args, _read: ReadFact) -> Args:
    resource_of(args)
    return args


def ask(args: Args, reader: ClusterReader) -> Answer:
    kind, name = resource_of(args)
    keys = THROTTLES[kind]
    found = dict(zip(keys, own_texts(reader, kind, name, keys), strict=True))
    # An empty list of throttled replicas throttles nothing.
    left = [f"{key} {value}" for key, value in found.items() if value not in {ABSENT, ""}]
    return judge(not left, f"{kind} {name}: {'; '.join(left) or 'none'}", "no replication throttle set")


PROBE = Probe(
    name="no_throttles",
    summary="the topic or broker sets no replication throttle",
    params=PARAMS,
    freeze=freeze,
    ask=ask,
)
