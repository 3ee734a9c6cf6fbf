"""Topics that a client may not describe make what a broker holds unknown; without an authorizer nothing is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import ConfigValue
from kfix.core.timing import Deadline
from kfix.heal.live import hidden_topics as hidden


class Lines:
    """Of brokers 1 and 2, the second one has a topic that the client may not describe."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def ask(self, broker: int, ask: Callable[[Any], Any], _deadline: Deadline) -> Any:
        return ask(SimpleNamespace(broker=broker))

    def ask_each(self, brokers: Iterable[int], ask: Callable[[Any], Any], _deadline: Deadline) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for broker in brokers:
            self.asked.append(broker)
            try:
                found[broker] = ask(SimpleNamespace(broker=broker))
            except UnreachableError as error:
                found[broker] = error
        return found


@pytest.mark.parametrize(
    ("configs", "why", "asked"),
    [
        ({"authorizer.class.name": ConfigValue("AclAuthorizer", own=False)}, "broker 2: hides secret", [1, 2]),
        ({"authorizer.class.name": ConfigValue("", own=False)}, "", []),
        ({}, "", []),
    ],
)
def test_with_an_authorizer_each_live_broker_shows_what_is_hidden(
    monkeypatch: pytest.MonkeyPatch, configs: dict[str, ConfigValue], why: str, asked: list[int]
) -> None:
    def refuse(line: Any, known: frozenset[str], _deadline: Deadline) -> None:
        assert known == {"orders"}
        if line.broker == 2:
            raise UnreachableError("hides secret")

    monkeypatch.setattr(hidden, "ask_configs_of", lambda *_: configs)
    monkeypatch.setattr(hidden, "refuse_hidden", refuse)
    lines: Any = Lines()
    assert hidden.hidden_topics(lines, 1, (1, 2), frozenset({"orders"}), Deadline.after(5)) == why
    assert lines.asked == asked
