"""Where ZooKeeper lists other replicas (KFX205), no advice has another controller elected: it would take those."""

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import ChangeKind, Diagnosis, Remedy
from kfix.core.snapshot.snapshot import Assignment, Snapshot
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import changed, coordinator_stuck, metadata_divergence, never_told
from tests.unit.diagnostics.created_cases import ORDERS, edited

_WAITS = "KFX205:other replicas"


def _found(paper: Paper) -> Diagnosis:
    snapshot: Snapshot = edited(paper.snapshot(), ORDERS, Assignment((1,)))
    return diagnose(snapshot, criteria=Criteria(prevention=True))


def _electing(found: Diagnosis) -> list[Remedy]:
    """Of all findings but that of the other replicas itself, which has it as a last resort."""
    return [
        r for f in found.walk() if f.key != _WAITS for r in f.remedies if ChangeKind.CONTROLLER_ELECTION in r.changes
    ]


def test_a_leaderless_partition_waits_for_its_other_replicas_before_another_controller() -> None:
    for make in (coordinator_stuck, metadata_divergence):
        waiting = _electing(_found(make()))
        assert waiting
        assert {each.after for each in waiting} == {_WAITS}
        assert all(each.command == "" for each in waiting)


def test_without_it_another_controller_is_advised_with_a_command() -> None:
    found = diagnose(coordinator_stuck().snapshot())
    assert any(each.command and not each.after for each in _electing(found))


def test_nor_is_the_controller_restarted_before() -> None:
    for controller, said in (
        (1, "Do not restart broker 1, or have another controller elected until the replicas agree"),
        (None, "Do not have another controller elected until the replicas agree"),
    ):
        found = _found(changed(coordinator_stuck(), controller=controller))
        [other] = [each for each in found.walk() if each.key == _WAITS]
        assert said in other.never


def test_a_controller_that_does_not_act_leaves_a_way_out() -> None:
    """No reassignment is carried out by it: its findings wait for this one, which has another one elected at last."""
    found = _found(never_told())
    assert {r.after for f in found.walk() if f.code == "KFX202" for r in f.remedies[1:]} == {_WAITS}
    [other] = [each for each in found.walk() if each.key == _WAITS]
    assert other.remedies[-1].runbook == "controller-reelect"
    assert not other.remedies[-1].after.startswith("KFX202")
