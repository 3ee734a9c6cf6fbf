"""At least n brokers are registered: fewer cannot carry the replicas, or losing one more would stop producers."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    registered, wanted = sorted(reader.registered_brokers()), args.number("n")
    observed = f"{len(registered)} registered: {ids(registered)}"
    return judge(len(registered) >= wanted, observed, f"at least {wanted} registered brokers")


PROBE = Probe("brokers_live_at_least", "at least n brokers are registered", _ask, {"n": ArgKind.INT})
