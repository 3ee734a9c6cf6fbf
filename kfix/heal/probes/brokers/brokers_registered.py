"""Each of these brokers is registered: a move to an unregistered one would hang, a throttle on one would time out."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import about_brokers
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    """Returns an inconclusive answer where no broker is named: an empty list does not mean "all of them"."""
    wanted = args.brokers("brokers")
    registered = reader.registered_brokers()
    missing = tuple(b for b in wanted if b not in registered)
    observed = f"registered {ids(sorted(registered))}" + (f", missing {ids(missing)}" if missing else "")
    return judge(not missing if wanted else None, observed, f"brokers {ids(wanted)} registered")


PROBE = Probe(
    "brokers_registered",
    "all of the brokers are registered",
    _ask,
    {"brokers": ArgKind.BROKERS},
    reads=lambda args: about_brokers(*args.brokers("brokers")),
)
