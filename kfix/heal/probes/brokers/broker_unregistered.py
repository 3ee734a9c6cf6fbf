"""A broker id is not registered in a KRaft cluster; inconclusive where brokers do not report it (before Kafka 4.0)."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import RegisteredAs
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    broker = args.number("broker")
    state = reader.registration(broker).state
    absent = None if state is RegisteredAs.UNREPORTED else state is RegisteredAs.ABSENT
    return judge(absent, f"broker {broker}: {state}", f"broker {broker} is not registered")


PROBE = Probe("broker_unregistered", "the broker id is not registered", _ask, {"broker": ArgKind.BROKER})
