"""The topics that an authorizer hides from this client: their replicas are in no metadata that it reads."""

from __future__ import annotations

from collections.abc import Collection

from kfix.core.collect.rights import AUTHORIZER, refuse_hidden
from kfix.core.deadline import Deadline
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.questions import ask_configs_of
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.live.lines import BrokerLines


def hidden_topics(
    lines: BrokerLines, newest: int, live: Collection[int], known: frozenset[str], deadline: Deadline
) -> str:
    """Returns why there may be other topics than the known ones, as the log directories of the live brokers show.

    "" if there are none, and without an authorizer, which the broker `newest` is asked for, or another live one if
    that id is gone and another broker answers at its address.
    """
    asked = newest if newest in live else min(live)

    def authorizer(line: BrokerConnection) -> bool:
        found = ask_configs_of(line, ResourceKind.BROKER, str(asked), (AUTHORIZER,), deadline).get(AUTHORIZER)
        return found is not None and bool(found.value)

    if not lines.ask(asked, authorizer, deadline):
        return ""
    answers = lines.ask_each(live, lambda line: refuse_hidden(line, known, deadline), deadline)
    return "; ".join(f"broker {b}: {answer}" for b, answer in sorted(answers.items()) if answer is not None)
