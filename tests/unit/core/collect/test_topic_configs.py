"""The settings of topics as a broker describes them: what it refuses is reported, whatever the error."""

from typing import cast

import pytest

from kfix.core.collect.broker import ask_topic_configs
from kfix.core.collect.sources import settings
from kfix.core.errors import UnreachableError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.requests import DescribedConfig
from kfix.core.snapshot.snapshot import TOPIC_CONFIGS, Mode
from kfix.core.timing import Deadline
from kfix.heal.memory.cluster import MemoryCluster
from tests.unit.core.collect.known import failed, known


class Line:
    """A connection to a broker that describes these topics."""

    def __init__(self, *described: DescribedConfig) -> None:
        self.described = described

    def call(self, *_: object) -> tuple[DescribedConfig, ...]:
        return self.described


class Silent(Line):
    def call(self, *_: object) -> tuple[DescribedConfig, ...]:
        raise UnreachableError("b:1: no answer in time")


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
def test_only_a_broker_of_kraft_is_asked_for_them(mode: Mode) -> None:
    """Another one would lose a thread for good, if it has lost ZooKeeper."""
    views = MemoryCluster.healthy(topics={"orders": 3}).snapshot().views
    given = known({1: Line(described("orders"))}, views=views, mode=mode)
    found = settings.read(given)
    if mode is Mode.KRAFT:
        assert found == ({"orders": {"min.insync.replicas": "2"}}, {})
        assert failed(given) == []
        return
    assert found == ({}, None)
    assert [name for name, _ in failed(given)] == [TOPIC_CONFIGS]


def test_the_next_broker_is_asked_if_the_first_does_not_answer() -> None:
    views = MemoryCluster.healthy(topics={"orders": 3}).snapshot().views
    given = known({1: Silent(), 2: Line(described("orders"))}, views=views, mode=Mode.KRAFT)
    assert settings.read(given)[0] == {"orders": {"min.insync.replicas": "2"}}
    assert [name for name, _ in failed(given)] == [f"{TOPIC_CONFIGS} broker 1"]
