"""Coordinators that this client may not ask for: what they would show is unknown, and no all-clear."""

from types import SimpleNamespace

import pytest

from kfix.core.collect.probes import find_coordinators, read_probes, representatives
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.errors import UnreachableError
from kfix.core.timing import Deadline


class Line:
    """A broker that answers each request for a coordinator with this error, or with None not at all."""

    def __init__(self, error, broker=-1):
        self.error, self.broker, self.asked = error, broker, 0

    def call_many(self, asked, _deadline):
        self.asked += 1
        if self.error is None:
            raise UnreachableError("gone")
        return [SimpleNamespace(error=self.error, broker=self.broker) for _ in asked]


@pytest.mark.parametrize(("error", "why"), [(30, "GROUP_AUTHORIZATION_FAILED"), (15, "")])
def test_offsets_partitions_whose_made_up_groups_may_not_be_asked_for_are_not_read(error, why):
    questions = Questions()
    brokers = Brokers(questions, {1: Line(error)}, Deadline.after(2))
    probes = read_probes(brokers, representatives((), (), 50))
    failed = [source for source in questions.sources() if not source.ok]
    assert bool(failed) is bool(why)
    assert len(probes) == (0 if why else 50)
    if why:
        assert failed[0].error == f"coordinators of 50 offsets partitions, by groups that do not exist: {why}"


def test_a_group_that_may_not_be_asked_for_is_named_itself():
    questions = Questions()
    brokers = Brokers(questions, {1: Line(30)}, Deadline.after(2))
    read_probes(brokers, representatives(("orders",), (), 1))
    [failed] = [source for source in questions.sources() if not source.ok]
    assert failed.error == "coordinator of group orders: GROUP_AUTHORIZATION_FAILED"


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ((15, 0), (0, 2)),
        ((None, 0), (0, 2)),
        ((15, 16), (16, None)),
        ((15, None), (15, None)),
        ((None, 15), (15, None)),
    ],
)
def test_another_broker_is_asked_for_a_coordinator_that_the_first_one_does_not_name(answers, found):
    lines = [Line(error, broker=number) for number, error in enumerate(answers, 1)]
    [probe] = find_coordinators(lines, representatives(("orders",), (), 1), Deadline.after(2)).values()
    assert (probe.find_error, probe.coordinator) == found


def test_a_coordinator_that_is_known_is_not_asked_for_again():
    lines = [Line(0, broker=1), Line(0, broker=2)]
    [probe] = find_coordinators(lines, representatives(("orders",), (), 1), Deadline.after(2)).values()
    assert (probe.coordinator, lines[1].asked) == (1, 0)
