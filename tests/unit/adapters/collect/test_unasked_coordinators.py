"""Coordinators that this client may not ask for: what they would show is unknown, and no all-clear."""

from types import SimpleNamespace

import pytest

from kfix.adapters.collect.details import Details
from kfix.adapters.collect.probes import representatives
from kfix.adapters.collect.tasks import Questions
from kfix.adapters.deadline import Deadline


class Line:
    """A broker that answers each request for a coordinator with this error."""

    def __init__(self, error):
        self.error = error

    def call_many(self, asked, _decode, _deadline):
        return [SimpleNamespace(error=self.error, broker=-1) for _ in asked]


@pytest.mark.parametrize(("error", "why"), [(30, "GROUP_AUTHORIZATION_FAILED"), (15, "")])
def test_offsets_partitions_whose_made_up_groups_may_not_be_asked_for_are_not_read(error, why):
    questions = Questions()
    details = Details(questions, {1: Line(error)}, Deadline.after(2))
    probes = details.probes(representatives((), (), 50))
    failed = [source for source in questions.sources() if not source.ok]
    assert bool(failed) is bool(why)
    assert len(probes) == (0 if why else 50)
    if why:
        assert failed[0].error == f"coordinators of 50 offsets partitions, by groups that do not exist: {why}"


def test_a_group_that_may_not_be_asked_for_is_named_itself():
    questions = Questions()
    details = Details(questions, {1: Line(30)}, Deadline.after(2))
    details.probes(representatives(("orders",), (), 1))
    [failed] = [source for source in questions.sources() if not source.ok]
    assert failed.error == "coordinator of group orders: GROUP_AUTHORIZATION_FAILED"
