"""A broker id of a KRaft cluster is registered, and its broker is gone: what may be unregistered.

It is fenced, nothing answers at its address, it is no voter of the quorum, and no replica is assigned to it. If the
active controller knows when it last fetched metadata, that is longer ago than a restart takes. The answer is
inconclusive where the brokers do not report who is registered (before Kafka 4.0), and where there are topics that this
client may not describe: it may hold replicas of them.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import BrokerRegistration, RegisteredAs
from kfix.core.wording import ago, several
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import about_registration
from kfix.heal.probes.base import Probe

SHOW_TOPICS = "grant Describe on all topics (docs/security.md)"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    broker, dead_for = args.number("broker"), args.seconds("dead_for")
    found = reader.registration(broker)
    why = why_not_gone(broker, found, dead_for)
    unknown = "" if why or not found.hidden else hidden_replicas(broker, found.hidden)
    fetched = "no fetch known" if found.fetched is None else f"last fetch {ago(found.fetched)} ago"
    observed = why or unknown or f"broker {broker}: {found.state}, {fetched}, {several(found.replicas, 'replica')}"
    gone = None if unknown or found.state is RegisteredAs.UNREPORTED else not why
    return judge(gone, observed, f"broker {broker} is fenced and gone for {ago(dead_for)}, and holds nothing")


def hidden_replicas(broker: int, why: str) -> str:
    return f"broker {broker} may hold replicas of topics that this client may not describe ({why}): {SHOW_TOPICS}"


def why_not_gone(broker: int, found: BrokerRegistration, dead_for: float) -> str:
    """Returns why the registration has to stay, "" if nothing needs it."""
    reasons = {
        f"broker {broker} is alive": found.state is RegisteredAs.ALIVE,
        f"broker {broker} is not registered": found.state is RegisteredAs.ABSENT,
        f"the brokers do not report whether broker {broker} is registered (Kafka 4.0 and later do)": (
            found.state is RegisteredAs.UNREPORTED
        ),
        f"broker {broker} runs: its address answers": found.answers,
        f"node {broker} is a voter of the quorum": found.voter,
        f"broker {broker} still holds {several(found.replicas, 'replica')}: move them first": found.replicas > 0,
        f"broker {broker} may be restarting: its last fetch was {ago(found.fetched)} ago": (
            found.fetched is not None and found.fetched < dead_for
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


PROBE = Probe(
    "broker_is_gone",
    "the broker is registered, fenced and gone for this long, and holds no replica",
    _ask,
    {"broker": ArgKind.BROKER, "dead_for": ArgKind.DURATION},
    reads=lambda args: about_registration(args.number("broker")),
)
