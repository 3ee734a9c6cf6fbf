"""The cluster reports its id and at least one broker is registered."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe


def _ask(_args: Args, reader: ClusterReader) -> Answer:
    registered = reader.registered_brokers()
    observed = f"{reader.identity().name}, registered brokers {sorted(registered)}"
    return judge(bool(registered), observed, "a registered broker")


PROBE = Probe("cluster_reachable", "the cluster answers and a broker is registered", _ask)
