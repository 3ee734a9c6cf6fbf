"""So many brokers are registered: fewer cannot carry the replicas, or another one must not be lost now."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    registered, wanted = sorted(reader.registered_brokers()), args.number("n")
    observed = f"{len(registered)} registered: {ids(registered)}"
    return judge(len(registered) >= wanted, observed, f"at least {wanted} registered brokers")


PROBE = Probe(
    name="brokers_live_at_least",
    summary="at least so many brokers are registered",
    params={"n": ArgKind.INT},
    ask=ask,
)
