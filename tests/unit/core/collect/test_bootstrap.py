"""Who is asked although nobody lists it: told by the others, by a bootstrap address, or remembered with replicas."""

from kfix.core.collect.bootstrap import unlisted_brokers
from kfix.core.snapshot.snapshot import Endpoint
from tests.unit.diagnostics.clusters import base

HERE, THERE = Endpoint("here", 1), Endpoint("there", 2)


def found(remembered=None, by_bootstrap=None, asked=None, paper=None):
    snapshot = (paper or base().kill(1)).snapshot()
    return unlisted_brokers(
        snapshot.zookeeper, snapshot.views.values(), remembered or {}, by_bootstrap or {}, asked or {}
    )


def test_what_is_remembered_counts_while_it_holds_replicas():
    known = {2: HERE, 3: HERE}
    assert found({1: "there:2", 9: "there:2"}, asked=known) == {1: THERE}


def test_an_address_that_another_broker_has_by_now_leads_nowhere():
    assert found({1: "here:1"}, asked={2: HERE, 3: HERE}) == {}


def test_a_bootstrap_address_speaks_for_itself_and_before_memory():
    assert found({1: "old:9"}, {1: THERE}, {2: HERE, 3: HERE}) == {1: THERE}


def test_without_zookeeper_only_who_has_answered_counts():
    paper = base()
    paper.zookeeper = False
    assert found({1: "there:2"}, {7: THERE}, {1: HERE, 2: HERE, 3: HERE}, paper) == {7: THERE}
