"""KFX812: voters that are dead, lag, run with another disk, or cannot be reached at their address."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.snapshot.quorum import KRAFT_FEATURE, QuorumReplica, QuorumView
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.kraft_clusters import ADDRESS, HIGH, SILENT, answer, quorum
from tests.unit.diagnostics.test_incidents import find


def test_a_voter_whose_disk_was_replaced_is_removed_and_added_again_and_no_network_is_repaired() -> None:
    finding = find(diagnose(kraft_clusters.one_controller_on_another_disk()), "KFX812")
    assert "the voter has directory id disk-102" in finding.summary
    assert "the controller has new-disk. 2 of 3 voters left; losing one more stops every change" in finding.summary
    replacing, _ = finding.remedies
    assert replacing.command.startswith("kfix runbook apply quorum-replace-voter -p node=102 ")
    assert not any("network" in remedy.text for remedy in finding.remedies)


def test_a_lost_disk_is_replaced_only_where_voters_may_change_and_a_majority_is_left() -> None:
    sick = kraft_clusters.one_controller_dead()
    assert sick.quorum is not None

    def offered(view: QuorumView) -> bool:
        finding = find(diagnose(replace(sick, quorum=view)), "KFX812")
        return any(remedy.runbook == "quorum-replace-voter" for remedy in finding.remedies)

    dynamic = replace(sick.quorum, features={KRAFT_FEATURE: 1})
    assert (offered(dynamic), offered(sick.quorum)) == (True, False)
    assert not offered(replace(dynamic, voters=dynamic.voters[1:]))


@pytest.mark.parametrize(
    ("voters", "words"), [(2, "2 voters, [100, 101]: losing either"), (1, "1 voter, [100]: losing")]
)
def test_a_controller_that_follows_and_is_no_voter_is_named_with_the_runbook_that_adds_it(
    voters: int, words: str
) -> None:
    sick = kraft_clusters.two_voters(unknown=True)
    assert sick.quorum is not None
    joins = QuorumReplica(102, HIGH, 0.2, 0.2)
    view = replace(
        sick.quorum,
        voters=sick.quorum.voters[:voters],
        observers=(*sick.quorum.observers, joins),
        features={KRAFT_FEATURE: 1},
    )
    finding = find(diagnose(replace(sick, quorum=view)), "KFX812")
    assert words in finding.summary
    [adding] = finding.remedies
    assert adding.command.startswith("kfix runbook apply quorum-add-voter -p node=102 ")


def test_a_voter_that_fetches_has_its_disk_although_an_older_entry_of_it_is_left() -> None:
    view = quorum(voters=(*quorum().voters[:2], QuorumReplica(102, HIGH - 500, 0.1, 40.0, "new-disk")))
    old = QuorumReplica(102, HIGH, 4.0, 4.0, "old-disk")
    both = replace(view, observers=(*view.observers, old))
    finding = find(diagnose(kraft_clusters.kraft().snapshot(quorum=both)), "KFX812")
    assert "has lagged behind for 40 s" in finding.summary
    assert not any(remedy.runbook for remedy in finding.remedies)


def test_without_a_majority_no_voter_is_removed_since_nothing_is_committed() -> None:
    one, two, *_ = (r._replace(directory=f"disk-{r.node}") for r in quorum().voters)
    gone, again = two._replace(fetched=60.0, caught_up=60.0), two._replace(directory="new-disk")
    view = quorum(voters=(one, gone), observers=(*quorum().observers, again))
    finding = find(diagnose(kraft_clusters.kraft().snapshot(quorum=view)), "KFX812")
    assert "1 of 2 voters left; that is no majority, so no change is committed" in finding.summary
    assert not any(remedy.command for remedy in finding.remedies)


def test_a_controller_that_follows_is_alive_although_nothing_listens_at_its_address() -> None:
    finding = find(diagnose(kraft_clusters.nothing_listens_where_a_controller_is_said_to_be()), "KFX812")
    assert finding.summary.startswith("controller 102 is alive and follows, but nothing listens at localhost:9195")
    assert not any("Start" in remedy.text for remedy in finding.remedies)


def test_the_active_controller_fetches_from_no_other_and_is_not_failing() -> None:
    active, *others = quorum().voters
    view = quorum(voters=(active._replace(fetched=-1.0, caught_up=-1.0), *others))
    diagnosis = diagnose(kraft_clusters.kraft().snapshot(quorum=view))
    assert [f.key for f in diagnosis.walk() if f.code == "KFX812"] == []


@for_each(
    ("voters", "left"),
    [
        (2, "1 of 2 voters left; that is no majority, so no change is committed"),
        (3, "2 of 3 voters left; losing one more stops every change"),
        (4, "3 of 4 voters left; losing one more stops every change"),
        (5, "4 of 5 voters left; the quorum can lose 1 more"),
        (7, "6 of 7 voters left; the quorum can lose 2 more"),
    ],
)
def test_it_states_how_many_more_voters_the_quorum_can_lose(voters: int, left: str) -> None:
    nodes = [QuorumReplica(100 + n, HIGH, 0.2, 0.2) for n in range(voters - 1)]
    dead = QuorumReplica(100 + voters, HIGH - 100, 600.0, 600.0)
    finding = find(diagnose(kraft_clusters.kraft().snapshot(quorum=quorum(voters=(*nodes, dead)))), "KFX812")
    assert left in finding.summary


@for_each(
    ("gone", "dated", "failing"), [(True, True, True), (True, False, True), (False, True, True), (False, False, False)]
)
def test_a_voter_without_a_fetch_fails_if_it_does_not_answer_or_others_have_fetched(
    gone: bool, dated: bool, failing: bool
) -> None:
    one, two, three = (each._replace(fetched=0.2 if dated else -1.0, caught_up=-1.0) for each in quorum().voters)
    answers = tuple(answer(node, active=node == 100, error=SILENT if gone and node == 102 else "") for node in ADDRESS)
    observers = quorum().observers if dated else ()
    view = quorum(voters=(one, two, three._replace(fetched=-1.0)), observers=observers, controllers=answers)
    found = {f.obj for f in diagnose(kraft_clusters.kraft().snapshot(quorum=view)).walk() if f.code == "KFX812"}
    assert found == ({"controller 102"} if failing else set())
