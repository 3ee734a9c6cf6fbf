"""Which nodes may be restarting on KRaft, where no client sees when a broker registered: earlier snapshots bound it."""

from __future__ import annotations

from typing import Any

import pytest

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import remembering
from tests.unit.diagnostics.kraft_clusters import kraft, quorum

GRACE = 120.0
#: An active controller that was elected after broker 3 had died knows no last fetch of it.
TOO_NEW = {3: -1.0}


def dead(**times: float) -> Any:
    snapshot = kraft().kill(3).snapshot(quorum=quorum(TOO_NEW, fenced=(3,)))
    remembered: dict[str, Any] = {name: {3: snapshot.taken_at - age} for name, age in times.items()}
    return remembering(snapshot, **remembered)


@pytest.mark.parametrize("name", ["alive", "well"])
@pytest.mark.parametrize(("age", "restarting"), [(60.0, True), (3 * 86_400.0, False)])
def test_a_dead_broker_that_answered_lately_may_be_restarting(name, age, restarting):
    case = open_case(dead(**{name: age}), Criteria(restart_grace=GRACE))
    assert case.dead == (3,)
    assert case.restarting(3) is restarting


def test_when_it_answered_is_not_when_it_died():
    snapshot = dead(alive=3 * 86_400.0)
    assert open_case(snapshot, Criteria(restart_grace=GRACE)).absence(3) == (None, 3 * 86_400.0, None)
    assert "gone for about" not in str(diagnose(snapshot).findings)
    assert "gone for at most 3 days" in str(diagnose(snapshot).findings)


def test_without_an_earlier_snapshot_nothing_is_called_a_restart():
    assert not open_case(dead(), Criteria(restart_grace=GRACE)).restarting(3)


@pytest.mark.parametrize(("age", "restarting"), [(60.0, True), (3 * 86_400.0, False)])
def test_a_live_broker_that_was_dead_lately_may_have_restarted(age, restarting):
    snapshot = kraft().snapshot(quorum=quorum())
    snapshot = remembering(snapshot, dead={2: snapshot.taken_at - age}, alive={2: snapshot.taken_at})
    assert open_case(snapshot, Criteria(restart_grace=GRACE)).restarting(2) is restarting


def test_the_last_answer_of_a_live_broker_bounds_nothing():
    snapshot = kraft().snapshot(quorum=quorum())
    snapshot = remembering(snapshot, alive={2: snapshot.taken_at - 1})
    assert not open_case(snapshot, Criteria(restart_grace=GRACE)).restarting(2)
