"""The proof of each runbook covers all that its finding lists: what a run leaves sick, the end of the run names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.diagnosis.finding import REQUEST
from kfix.core.errors import NotProvedError, RefusedError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.plan import CheckCall, Plan
from kfix.heal.model.runbook import Runbook, RunbookTest
from kfix.heal.safety.proof import sample
from kfix.heal.testing import _plan
from tests import shipped
from tests.catalogue.test_runbooks_refuse import Book
from tests.each import for_each

#: Runbooks whose preconditions let a partition without the fault pass.
_SEVERAL = 5
PLANNED = [
    (book, test)
    for book in shipped.runbooks().values()
    for test in book.tests
    if not test.expect.refused_by and INCIDENTS[test.cluster]().finding.partitions
]


def covers(check: CheckCall, tp: TopicPartition) -> bool:
    """Returns whether an argument of the check is the partition, its topic, or a list with it."""
    args = [str(each) for arg in dict(check.args).values() for each in (arg if isinstance(arg, tuple) else (arg,))]
    return str(tp) in args or tp.topic in args


@for_each(("book", "test"), PLANNED)
def test_while_a_partition_of_the_finding_is_sick_a_check_of_the_proof_names_it(
    book: Runbook, test: RunbookTest
) -> None:
    incident = INCIDENTS[test.cluster]()
    plan = _plan(book, test, incident)
    assert isinstance(plan, Plan)
    failing = [check for check, answer in sample(plan.goal.checks, incident.cluster) if not answer.passed]
    assert [tp for tp in plan.finding.partitions if not any(covers(check, tp) for check in failing)] == []


def test_a_proof_names_a_second_partition_that_a_finding_lists() -> None:
    """Even if it is of another topic; a partition that has not the fault may be refused by a precondition."""
    unnamed, proved = [], set()
    for book, test in PLANNED:
        incident = INCIDENTS[test.cluster]()
        mine = incident.finding.partitions
        other = next((tp for tp in sorted(incident.cluster.records.states) if tp not in mine), None)
        if other is None:
            continue
        wider = replace(incident, finding=replace(incident.finding, partitions=(*mine, other)))
        try:
            plan = _plan(book, test, wider)
        except RefusedError:
            continue
        if isinstance(plan, Plan) and plan.finding.code != REQUEST and plan.goal.checks:
            proved.add(book.metadata.id)
            unnamed += [(book.metadata.id, tp) for tp in plan.finding.partitions
                        if not any(covers(check, tp) for check in plan.goal.checks)]  # fmt: skip
    assert (unnamed, len(proved) >= _SEVERAL) == ([], True), (unnamed, proved)


def test_a_run_that_heals_one_of_two_partitions_ends_unproved_with_code_5_and_names_the_other(tmp_path: Path) -> None:
    book = Book(INCIDENTS["stuck-reassignment-two"](), "cancel-reassignment", tmp_path)
    with pytest.raises(NotProvedError, match=r"no_reassignment\(partition=orders-1\): fail") as ended:
        book.run(book.made())
    assert ended.value.exit_code == 5
    assert "changed: cancel:orders-0" in str(ended.value)
    assert "partition=orders-0" not in str(ended.value)
