"""Whether a quorum has an active controller, and who is alive by the views: an absent answer proves nothing."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.quorum import absence, listed_alive, majority, quorum_lost
from kfix.core.snapshot.quorum import QuorumView
from tests.each import for_each
from tests.unit.diagnostics.kraft_clusters import HIGH, REFUSED, SILENT, healthy, lost, quorum

APART = lost(c100=SILENT, c101=SILENT, c102=SILENT)
MOVED = dict.fromkeys((1, 2, 3), HIGH + 1)


@for_each(
    ("view", "is_lost"),
    [
        (quorum(), False),
        (lost(), True),  # each controller answers that it is not the active one
        (lost(c100=REFUSED), True),
        (lost(c100=REFUSED, c101=REFUSED, c102=REFUSED), True),
        (APART, True),  # by the brokers alone: no answer, and no metadata moves
        (replace(APART, forwarded=""), False),
        (replace(APART, forwarded="CLUSTER_AUTHORIZATION_FAILED"), False),
        (replace(APART, apart=0.5), False),
        (replace(APART, later=MOVED), False),
        (replace(APART, later={}), False),  # not read twice
        (replace(lost(c100=SILENT), later={}), False),  # the one that was not reached may be the active one
        (replace(lost(c100=SILENT), apart=0.5), False),
        (replace(lost(), later={}, configured={}), False),  # the voters are unknown
        (replace(lost(), later={}, controllers=lost().controllers[1:]), False),  # one was not asked
        (replace(lost(), later={}), True),
    ],
)
def test_a_quorum_is_lost_only_where_nothing_can_be_its_active_controller(view: QuorumView, is_lost: bool) -> None:
    assert quorum_lost(view) is is_lost


@for_each(("voters", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)])
def test_a_majority_is_more_than_half_of_the_voters(voters: int, needed: int) -> None:
    assert majority(voters) == needed


@for_each(("listing", "alive"), [(0, False), (1, False), (2, False), (3, True), (4, True)])
def test_a_broker_is_alive_that_more_than_half_of_the_views_list(listing: int, alive: bool) -> None:
    view = healthy().views[2]
    others = {broker: address for broker, address in view.alive.items() if broker != 1}
    views = {n: view if n < listing else replace(view, alive=others) for n in range(4)}
    found = listed_alive(views, None)
    assert found is not None
    assert (1 in found) is alive
    assert {2, 3} <= found


def test_who_is_alive_is_unknown_where_no_view_lists_anybody() -> None:
    views = {broker: replace(view, alive={}) for broker, view in healthy().views.items()}
    assert listed_alive(views, None) is None
    assert listed_alive({}, None) is None


def test_a_broker_that_is_also_a_voter_is_absent_since_the_later_of_its_fetches() -> None:
    view = quorum({1: 30.0})
    [seen] = [each for each in view.observers if each.node == 1]
    assert absence(view, 1) == 30.0
    assert absence(replace(view, voters=(*view.voters, seen._replace(fetched=5.0))), 1) == 5.0
    assert absence(replace(view, voters=(*view.voters, seen._replace(fetched=90.0))), 1) == 30.0
    assert absence(view, 9) is None
    assert absence(quorum({1: -1.0}), 1) is None
