"""A plan reads the setting of unclean elections from the active controller, over real sockets, and never a broker's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.kafka.kraft_messages import DescribedQuorum
from kfix.core.kafka.security import Security
from kfix.core.snapshot.reading import ConfigValue, ResourceKind
from kfix.core.snapshot.snapshot import ClusterIdentity, Endpoint, Mode
from kfix.core.target import Target
from kfix.heal.live.controllers import Controllers
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.reader import LiveReader
from tests.unit.core.collect.test_controller_settings import controller, settings
from tests.unit.core.collect.test_quorum import world
from tests.unit.heal.live.test_kraft import described

KEYS = (UNCLEAN, "min.insync.replicas")


@contextlib.contextmanager
def reading(
    monkeypatch: pytest.MonkeyPatch, controller: Endpoint | None, *, own: bool = False, value: str = "false"
) -> Iterator[LiveReader]:
    """The brokers report this value of the topic, as its own or as their default; the controller, if any, is asked."""

    class Active(Controllers):
        def active(self, *_args: object) -> DescribedQuorum:
            self._last = controller
            return described()

    authority = KraftAuthority(Target((), timeout=2.0), "mine", {}, ())
    monkeypatch.setattr(authority, "_controllers", Active(Security(), [] if controller is None else [controller]))
    reader = LiveReader(Target((), timeout=2.0), authority, ClusterIdentity("mine", Mode.KRAFT, "b:1"), {})
    told = {UNCLEAN: ConfigValue(value, own=own), "min.insync.replicas": ConfigValue("2", own=True)}
    monkeypatch.setattr(reader, "registered_brokers", lambda: frozenset({1}))
    lines: Any = SimpleNamespace(ask_any=lambda *_: dict(told), ask=lambda *_: dict(told), close=lambda: None)
    monkeypatch.setattr(reader, "_lines", lines)
    yield reader
    reader.close()


@pytest.fixture
def allowing() -> Iterator[Endpoint]:
    with world(controller(0, settings("true"))) as [endpoint]:
        yield endpoint


def test_the_active_controllers_value_is_the_one_in_force(monkeypatch: pytest.MonkeyPatch, allowing: Endpoint) -> None:
    with reading(monkeypatch, allowing) as reader:
        found = reader.configs(ResourceKind.TOPIC, "t", KEYS)
    assert found == {UNCLEAN: ConfigValue("true", own=False), "min.insync.replicas": ConfigValue("2", own=True)}


def test_what_does_not_depend_on_the_controller_is_not_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with reading(monkeypatch, Endpoint("127.0.0.1", 1)) as reader:
        assert reader.configs(ResourceKind.TOPIC, "t", ("min.insync.replicas",))["min.insync.replicas"].value == "2"
        assert reader.configs(ResourceKind.BROKER, "1", KEYS)[UNCLEAN].value == "false"


@pytest.mark.parametrize(("own", "value"), [(False, None), (True, "false")])
def test_where_no_controller_is_reached_only_the_topics_own_value_is_known(
    monkeypatch: pytest.MonkeyPatch, own: bool, value: str | None
) -> None:
    """The quorum was described through a broker, which does not forward this question."""
    with reading(monkeypatch, None, own=own) as reader:
        found = reader.configs(ResourceKind.TOPIC, "t", KEYS)
    assert found[UNCLEAN] == ConfigValue(value, own=own)


def test_a_controller_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        world(controller(0, settings("", error=29))) as [endpoint],
        reading(monkeypatch, endpoint) as reader,
        pytest.raises(UnreachableError, match="TOPIC_AUTHORIZATION_FAILED"),
    ):
        reader.configs(ResourceKind.TOPIC, "t", KEYS)
