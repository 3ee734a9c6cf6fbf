"""Where it was not read who is eligible to lead, no unclean election is proposed, and no loss is counted."""

from __future__ import annotations

import pytest

from kfix.core.diagnosis.finding import ChangeKind
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import unclean_clusters
from tests.unit.diagnostics.test_incidents import find
from tests.unit.diagnostics.test_unclean_allowed import SET_FALSE, starts

SOME_DEAD, ALL_DEAD = ("KFX103", (1, 2)), ("KFX104", (1, 2, 3))


@pytest.mark.parametrize(("code", "dead"), [SOME_DEAD, ALL_DEAD])
@pytest.mark.parametrize("elr", [True, None], ids=["ELR on", "ELR unknown"])
def test_the_dead_replicas_are_to_be_started_and_the_diagnosis_repeated(code, dead, elr):
    finding = find(diagnose(unclean_clusters.unread(*dead, elr=elr)), code)
    assert "it was not read which replicas may lead without a loss" in finding.summary
    start, again = finding.remedies
    assert (start.brokers, start.runbook) == (dead, "")
    assert start.text.endswith(
        "with their old disks, never with an empty one: if one of them is eligible to lead, it is elected, and no "
        "record is lost"
    )
    assert again.command.startswith("kfix diagnose ")


@pytest.mark.parametrize("unclean", [False, True])
@pytest.mark.parametrize("dead", [(), (1, 2), (1, 2, 3)])
def test_no_remedy_of_any_finding_loses_a_record(dead, unclean):
    for finding in diagnose(unclean_clusters.unread(*dead, unclean=unclean)).walk():
        for remedy in finding.remedies:
            assert ChangeKind.UNCLEAN_ELECTION not in remedy.changes, remedy
            assert "loses at least" not in remedy.text


@pytest.mark.parametrize(("code", "dead"), [SOME_DEAD, ALL_DEAD])
def test_where_unclean_elections_are_allowed_every_start_waits_for_the_setting(code, dead):
    found = diagnose(unclean_clusters.unread(*dead, unclean=True))
    finding = find(found, code)
    assert finding.remedies[0].command.endswith(SET_FALSE)
    assert starts(found)
    assert all(remedy.after == finding.key for _, remedy in starts(found))


def test_with_all_replicas_alive_there_is_nothing_to_start():
    [again] = find(diagnose(unclean_clusters.unread()), "KFX103").remedies
    assert again.text == "Diagnose again, so that kfix reads which replicas are eligible"


def test_without_eligible_replicas_in_the_cluster_nothing_is_unread():
    finding = find(diagnose(unclean_clusters.unread(1, 2, elr=False)), "KFX103")
    assert finding.key == "KFX103:empty ISR"
