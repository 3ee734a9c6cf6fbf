"""Finds topics that an authorizer hides from this client: no metadata that it reads has their replicas."""

from collections.abc import Collection

from kfix.core.collect.rights import AUTHORIZER, refuse_hidden
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.questions import ask_configs_of
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.timing import Deadline
from kfix.heal.live.lines import BrokerLines


def hidden_topics(
    lines: BrokerLines, newest: int, live: Collection[int], known: frozenset[str], deadline: Deadline
) -> str:
    """Returns why there may be topics besides `known`, from the log directories of the live brokers, or "".

    It returns "" too if the cluster has no authorizer. It asks the broker `newest` for that, or another live one if
    another broker now answers at its address.
    """
    broker = newest if newest in live else min(live)

    def authorizer(line: BrokerConnection) -> bool:
        found = ask_configs_of(line, ResourceKind.BROKER, str(broker), (AUTHORIZER,), deadline).get(AUTHORIZER)
        return found is not None and bool(found.value)

    if not lines.ask(broker, authorizer, deadline):
        return ""
    answers = lines.ask_each(live, lambda line: refuse_hidden(line, known, deadline), deadline)
    return "; ".join(f"broker {b}: {answer}" for b, answer in sorted(answers.items()) if answer is not None)
