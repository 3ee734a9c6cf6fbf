"""On KRaft the controllers elect by themselves: no finding proposes an election that is refused, or does nothing."""

import pytest

from kfix.core.diagnosis.finding import ChangeKind
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.clusters import partitions_stuck
from tests.unit.diagnostics.test_incidents import find
from tests.unit.diagnostics.test_kraft import live, on_kraft

#: An election is a remedy of them with ZooKeeper only, or none at all.
NO_ELECTION = frozenset({"KFX101", "KFX102", "KFX201", "KFX202", "KFX403", "KFX502", "KFX612", "KFX805", "KFX806"})


@for_each("name", live)
def test_what_controllers_do_by_themselves_is_no_advice(name: str) -> None:
    for finding in live()[name].walk():
        if finding.code in NO_ELECTION:
            for remedy in finding.remedies:
                assert not {ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION} & set(remedy.changes), remedy
                assert "election" not in f"{remedy.text} {remedy.command}".lower(), remedy


@pytest.mark.parametrize("partitions", [3, 60])
def test_a_leaderless_partition_with_a_live_in_sync_replica_points_to_the_quorum(partitions: int) -> None:
    finding = find(diagnose(on_kraft(partitions_stuck(partitions).snapshot())), "KFX102")
    why, again = finding.remedies
    assert all(code in why.text for code in ("KFX811", "KFX813", "KFX814"))
    assert again.command.startswith("kfix diagnose ")
    assert finding.never[1].startswith("Do not trigger an election")
