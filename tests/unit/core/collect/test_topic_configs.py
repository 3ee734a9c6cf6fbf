"""The settings of topics as a broker describes them: what it refuses is reported, whatever the error."""

from typing import Any, cast

import pytest

from kfix.core.collect.broker import ask_topic_configs
from kfix.core.collect.details import Details
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.second_round import SecondRound
from kfix.core.collect.tasks import Questions
from kfix.core.deadline import Deadline
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.requests import DescribedConfig
from kfix.core.snapshot.snapshot import TOPIC_CONFIGS, Mode
from kfix.heal.memory.cluster import MemoryCluster


class Line:
    """A connection to a broker that describes these topics."""

    def __init__(self, *described: DescribedConfig) -> None:
        self.described = described

    def call(self, *_: object) -> tuple[DescribedConfig, ...]:
        return self.described


def described(name: str, error: int = 0) -> DescribedConfig:
    return DescribedConfig(name, error, "", {} if error else {"min.insync.replicas": "2"}, {}, {})


@pytest.mark.parametrize(
    ("errors", "reported"),
    [
        ([3], ""),
        ([29], "t0: TOPIC_AUTHORIZATION_FAILED"),
        ([7], "t0: REQUEST_TIMED_OUT"),
        ([3, -1, 29], "t1: UNKNOWN_SERVER_ERROR (and 1 other topic)"),
    ],
)
def test_every_error_is_reported_unless_the_topic_was_deleted(errors: list[int], reported: str) -> None:
    line = Line(described("orders"), *(described(f"t{n}", error) for n, error in enumerate(errors)))
    effective, _, refused = ask_topic_configs(cast("BrokerConnection", line), ("orders",), Deadline(1.0))
    assert refused == reported
    assert effective == {"orders": {"min.insync.replicas": "2"}}


@pytest.mark.parametrize("mode", Mode)
def test_only_a_broker_of_kraft_is_asked_for_them(monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    """Another one would lose a thread for good, if it has lost ZooKeeper."""
    asked = []

    def answer(_: Details, topics: tuple[str, ...], _deadline: Deadline) -> tuple[dict[str, Any], dict[str, Any]]:
        asked.append(topics)
        return {"orders": {"min.insync.replicas": "2"}}, {}

    monkeypatch.setattr(Details, "topic_configs", answer)
    questions, views = Questions(), MemoryCluster.healthy(topics={"orders": 3}).snapshot().views
    found = SecondRound(questions, {}, Deadline.after(1), CollectOptions(), views, None).topic_configs(mode, {})
    if mode is Mode.KRAFT:
        assert found == ({"orders": {"min.insync.replicas": "2"}}, {})
        assert (asked, questions.sources()) == ([("orders",)], ())
        return
    assert found == ({}, None)
    assert asked == []
    assert [(each.name, each.ok) for each in questions.sources()] == [(TOPIC_CONFIGS, False)]
