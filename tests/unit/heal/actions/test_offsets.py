"""Offsets are moved back only on request, and what somebody else committed meanwhile is not taken for this change."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.offsets import StoredOffset
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.plan import Gate
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
