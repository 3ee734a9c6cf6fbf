"""No replication throttle is set on the topic or broker: a left-over one can keep a replica out of the ISR forever."""

from __future__ import annotations

from kfix.core.args import ABSENT, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.configs.resource import THROTTLES, Resource, own_texts, resource_probe


def _rule(_args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    kind, name = resource
    keys = THROTTLES[kind]
    found = dict(zip(keys, own_texts(reader, kind, name, keys), strict=True))
    # An empty list of throttled replicas throttles nothing.
    left = [f"{key} {value}" for key, value in found.items() if value not in {ABSENT, ""}]
    return judge(not left, f"{kind} {name}: {'; '.join(left) or 'none'}", "no replication throttle set")


PROBE = resource_probe("no_throttles", "the topic or broker sets no replication throttle", _rule)
