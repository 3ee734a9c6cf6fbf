"""Offsets are moved back only on request, and what somebody else committed meanwhile is not taken for this change."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.offsets import StoredOffset
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import Gate
from kfix.heal.probes.registry import ask
from tests.unit.heal.actions.acting import TP, freeze, progress
from tests.unit.heal.probes.group_cases import with_offsets

NAME = "offsets.commit"


def planned(cluster: MemoryCluster, offsets: str, *, back: bool = False) -> Args:
    return freeze(NAME, cluster, group="g", topic="orders", offsets=offsets, back=back)


@pytest.mark.parametrize("offsets", ['{"0":"4"}', '{"0":null}', '{"0":"0"}'])
def test_an_offset_is_moved_back_or_deleted_only_on_request(offsets: str) -> None:
    with pytest.raises(RefusedError, match="the committed offset 5 is newer"):
        planned(with_offsets(), offsets)
    assert planned(with_offsets(), offsets, back=True).text("offsets_before") == '{"0":"5@0 a note"}'


def test_equal_offsets_are_no_change_and_no_step_back() -> None:
    with pytest.raises(NotApplicable, match="has these offsets of orders already"):
        planned(with_offsets(), '{"0":"5","1":null}')
    args = planned(with_offsets(), '{"0":"5","1":"0"}')
    assert ACTIONS[NAME].gate_for(args) is Gate.STEP
    assert ACTIONS[NAME].gate_for(planned(with_offsets(), '{"1":"0"}')) is Gate.PLAN


@pytest.mark.parametrize(
    ("now", "status"), [(5, ActionStatus.NOT_STARTED), (7, ActionStatus.DONE), (6, ActionStatus.UNKNOWN)]
)
def test_what_another_operator_committed_is_unknown_and_not_this_change(now: int, status: ActionStatus) -> None:
    cluster = with_offsets()
    far = progress(NAME, planned(cluster, '{"0":"7"}'), cluster)
    cluster.committed["g"][TP] = StoredOffset(now)
    assert far() is status


SKIP = "offsets.skip"


def skipping(cluster: MemoryCluster, offset: int = 5, sha256: str = "00") -> Args:
    return freeze(SKIP, cluster, group="g", partition=str(TP), offset=offset, sha256=sha256)


def test_exactly_one_record_is_skipped_with_what_is_stored_beside_the_offset() -> None:
    args = skipping(with_offsets())
    assert (args.text("offsets_before"), args.text("offsets")) == ('{"0":"5@0 a note"}', '{"0":"6@0 a note"}')
    assert ACTIONS[SKIP].gate_for(args) is Gate.STEP
    with pytest.raises(NotApplicable, match="has committed offset 5 of orders-0 already"):
        skipping(with_offsets(), 4)
    for offset in (3, 6):
        with pytest.raises(RefusedError, match=f"the committed offset is 5, not {offset}"):
            skipping(with_offsets(), offset)


@pytest.mark.parametrize(
    ("now", "status"),
    [(5, ActionStatus.NOT_STARTED), (6, ActionStatus.DONE), (9, ActionStatus.DONE), (4, ActionStatus.UNKNOWN)],
)
def test_a_group_that_has_read_on_since_does_not_get_its_offset_again(now: int, status: ActionStatus) -> None:
    cluster = with_offsets()
    far = progress(SKIP, skipping(cluster), cluster)
    cluster.committed["g"][TP] = StoredOffset(now)
    assert far() is status


def test_another_record_than_the_saved_one_and_a_member_keep_it_from_being_sent() -> None:
    cluster = with_offsets(members=True)
    args = skipping(cluster)
    answers = {call.check: ask(call, cluster) for call in ACTIONS[SKIP].guards(args)}
    assert {name: each.verdict for name, each in answers.items()} == {
        "group_is_empty": Verdict.FAIL,
        "offsets_are": Verdict.PASS,
        "record_is_saved": Verdict.FAIL,
    }
