"""The scheduler of sources: each starts when those that it needs have ended, and none waits for another one."""

import threading
import time
from typing import Any

import pytest

from kfix.core.collect.source import Known, LiveSource, read_all, source
from kfix.core.collect.sources import SOURCES
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import Deadline
from tests.unit.core.collect.known import failed, known
from tests.waiting import seconds


@source(fills="number")
def number(_: Known) -> int:
    return 6


@source(needs=(number,))
def doubled(of: Known) -> int:
    return 2 * of[number]


@source(fills="sum", needs=(number, doubled))
def both(of: Known) -> int:
    return of[number] + of[doubled]


def test_a_source_gets_the_values_of_those_that_it_needs_and_fills_its_field() -> None:
    assert read_all([both, number], known({})) == {"sum": 18, "number": 6}


def test_a_source_that_several_need_is_read_once() -> None:
    times: list[str] = []

    @source()
    def counted(_: Known) -> int:
        times.append("read")
        return 1

    users = [LiveSource(lambda of: of[counted], name, (counted,)) for name in ("a", "b", "c")]
    assert read_all(users, known({})) == {"a": 1, "b": 1, "c": 1}
    assert times == ["read"]


def test_a_value_that_was_not_declared_as_needed_is_an_error() -> None:
    undeclared: LiveSource[int] = LiveSource(lambda of: of[number], "undeclared", ())
    with pytest.raises(KeyError):
        read_all([number, undeclared], known({}))


def test_sources_that_do_not_need_each_other_are_read_at_once() -> None:
    together = threading.Barrier(2, timeout=5)
    sources = [LiveSource(lambda _: together.wait() >= 0, name, ()) for name in ("a", "b")]
    assert read_all(sources, known({})) == {"a": True, "b": True}


class Hung:
    """A connection to a broker that does not answer before the deadline."""

    def call(self, _: object, deadline: Deadline) -> None:
        time.sleep(deadline.left + 0.05)


def test_a_hung_broker_costs_its_own_answers_and_those_that_need_them() -> None:
    """It answered in the first round, and hangs now."""

    def ask(line: Any, _: str, deadline: Deadline) -> str:
        line.call(None, deadline)
        return "answer"

    quick: Any = type("Quick", (), {"call": lambda *_: None})()
    given = Brokers(Questions(), {1: quick, 2: Hung()}, Deadline.after(seconds(1)))  # type: ignore[dict-item]
    ended: list[str] = []

    @source(fills="first")
    def first(of: Known) -> dict[int, str]:
        found = of.brokers.each("first broker", {1: "a", 2: "b"}, ask).found
        ended.append("first")
        return found

    @source(fills="other")
    def other(of: Known) -> dict[int, str]:
        found = of.brokers.each("other broker", {1: "a"}, ask).found
        ended.append("other")
        return found

    @source(fills="later", needs=(first,))
    def later(of: Known) -> list[int]:
        return [*of[first]]

    asked = known({}, brokers=given)
    found = read_all([first, other, later], asked)
    assert found == {"first": {1: "answer"}, "other": {1: "answer"}, "later": [1]}
    assert ended == ["other", "first"]
    assert failed(asked) == [("first broker 2", "first broker 2: no answer in time")]


def test_the_error_of_a_broker_is_a_failed_source_and_a_bug_is_raised() -> None:
    def refuse(_line: Any, _: int, _deadline: Deadline) -> int:
        raise UnreachableError("b:1: refused")

    asked = known({7: None})
    answers = asked.brokers.each("size of broker", {7: 1, 8: 1}, refuse)
    assert (answers.found, answers.errors) == ({}, {7: "b:1: refused"})
    assert failed(asked) == [("size of broker 7", "b:1: refused")]
    aside = known({7: None})
    assert aside.brokers.aside().each("size of broker", {7: 1}, refuse).errors == {7: "b:1: refused"}
    assert failed(aside) == []
    broken: LiveSource[int] = LiveSource(lambda _: 1 // 0, "broken", ())
    with pytest.raises(ZeroDivisionError):
        read_all([LiveSource(lambda of: of[broken], "x", (broken,))], known({}))


def test_each_source_fills_a_field_of_the_snapshot_and_no_two_the_same() -> None:
    filled = [each.fills for each in SOURCES if each.fills]
    assert len(filled) == len(set(filled))
    assert set(filled) <= {*Snapshot.__dataclass_fields__}
