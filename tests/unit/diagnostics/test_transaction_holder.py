"""Who holds an open transaction: what its coordinator has logged decides whether it can be aborted, ends, or hangs."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.casefile import open_case
from kfix.core.snapshot.transactions import ENDING, ONGOING, TransactionState
from kfix_diagnostics._transactions import TransactionHolder, age_of
from tests.each import for_each
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.kraft_clusters import kraft, quorum

STATE = TransactionState("ledger", 4000, 3, 900_000, ONGOING, int((NOW - 95) * 1000))
HELD = TransactionHolder(4000, 3, 95.0, STATE, "", taken_at=NOW)

Verdicts = tuple[bool, bool, bool]


@for_each(
    ("held", "verdicts"),  # abortable, unfinished, hanging
    [
        (HELD, (True, False, False)),
        (replace(HELD, epoch=-1), (True, False, False)),
        (replace(HELD, epoch=2), (False, False, True)),
        (replace(HELD, epoch=4), (False, False, True)),
        (replace(HELD, outlived=True), (False, False, True)),
        (replace(HELD, state=None), (False, False, False)),
        (replace(HELD, state=STATE._replace(status="CompleteAbort")), (False, False, True)),
        *((replace(HELD, state=STATE._replace(status=each)), (False, True, False)) for each in sorted(ENDING)),
        (replace(HELD, state=STATE._replace(status="PrepareAbort"), outlived=True), (False, False, True)),
    ],
)
def test_a_transaction_can_be_aborted_ends_by_itself_or_hangs(held: TransactionHolder, verdicts: Verdicts) -> None:
    assert (held.abortable, held.unfinished, held.hanging) == verdicts
    assert held.timeout == (900.0 if held.abortable else None)
    assert held.ends_by == (NOW - 95 + 900 if held.abortable else None)
    assert held.facts["transactional_id"] == ("ledger" if held.abortable else "")


@for_each(("after", "overdue"), [(900.0, False), (929.0, False), (931.0, True)])
def test_it_is_overdue_once_its_coordinator_has_had_the_time_to_abort_it(after: float, overdue: bool) -> None:
    assert replace(HELD, since=after).overdue is overdue


@for_each(
    ("ahead", "limit", "age"),
    [
        (0, None, 100.0),
        (60, None, 40.0),
        (-60, None, 160.0),
        (-60, 120.0, 100.0),  # only the clock of this host gives an age within the limit
        (-60, 90.0, 160.0),  # none does
        (300, None, 100.0),  # the other clock would be behind the record
    ],
)
def test_an_age_above_the_limit_counts_only_if_no_clock_gives_a_lower_one(
    ahead: int, limit: float | None, age: float
) -> None:
    case = open_case(kraft().snapshot(quorum=quorum(clock_ahead=ahead)))
    assert age_of(case, int((case.taken_at - 100) * 1000), limit) == age
