"""No change while the network is cut: named, with what helps; a mere possibility refuses nothing."""

from dataclasses import replace

import pytest

from kfix.core.diagnosis.finding import Cause, Confidence
from kfix.core.errors import RefusedError
from kfix.heal.safety.refusals import cuts_in, refuse_while_cut
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.clusters import base, isr_gone

CUT = [
    cut_clusters.link_cut,
    cut_clusters.controller_link_cut,
    cut_clusters.zone_isolated,
    cut_clusters.two_controllers,
    cut_clusters.controller_alone,
]


@pytest.mark.parametrize("make", CUT)
def test_every_kind_of_cut_refuses(make):
    found = diagnose(make()).findings
    with pytest.raises(RefusedError, match="no election, no reassignment") as caught:
        refuse_while_cut(found)
    assert cuts_in(found)[0].key in str(caught.value)
    assert caught.value.hint.endswith("kfix diagnose")
    with pytest.raises(RefusedError, match="no election, no reassignment") as caught:
        refuse_while_cut(found, " -c shop")
    assert "repair the network" in caught.value.hint
    assert caught.value.hint.endswith("kfix diagnose -c shop")


@pytest.mark.parametrize(
    "make", [cut_clusters.one_sided_link_cut, cut_clusters.slow_broker, cut_clusters.node_cut, cut_clusters.quorum_lost]
)
def test_what_is_only_possible_or_no_cut_of_brokers_refuses_nothing(make):
    refuse_while_cut(diagnose(make()).findings)


def test_a_sick_cluster_that_is_not_cut_is_healed():
    refuse_while_cut(diagnose(isr_gone().snapshot()).findings)
    refuse_while_cut(diagnose(base().kill(1).snapshot()).findings)


def test_a_cut_that_is_folded_under_its_consequences_refuses_as_well():
    [cut] = diagnose(cut_clusters.link_cut()).findings
    folded = replace(cut, code="KFX101", folded=(replace(cut, code="KFX102", folded=(cut,)),))
    assert cuts_in([folded]) == (cut,)
    with pytest.raises(RefusedError, match="no election, no reassignment"):
        refuse_while_cut([folded])


def test_one_that_has_just_begun_refuses_until_the_next_snapshot():
    [head] = diagnose(cut_clusters.zone_isolated()).findings
    with pytest.raises(RefusedError, match="may be partitioned") as caught:
        refuse_while_cut([replace(head, unsettled=True)])
    assert "diagnose again" in caught.value.hint
    sure = replace(head, cause=Cause("x", Confidence.POSSIBLE))
    assert cuts_in([sure]) == ()
