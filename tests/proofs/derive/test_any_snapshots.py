"""What holds of a merged snapshot, whatever the looks hold that it is made of."""

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.derive.merging.merge import merge
from kfix.core.snapshot.snapshot import Snapshot
from kfix_diagnostics.engine import diagnose
from tests.unit.core.derive.places import seen_by
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.papers import papers


@st.composite
def looks(draw: st.DrawFn) -> list[Snapshot]:
    """One to four looks from places of their own at a cluster that may change in between; some tell no vantage."""
    found = []
    for place in draw(st.lists(st.sampled_from(["az1", "az2", "az3", "az4"]), min_size=1, max_size=4, unique=True)):
        whole = replace(
            draw(papers()).snapshot(),
            ensemble=cut_clusters.servers(a=draw(st.sampled_from(["leader", "no quorum", "-"]))),
        )
        brokers, later = draw(st.sets(st.integers(1, 5))), draw(st.sampled_from([0.0, 1.0, 60.0]))
        look = seen_by(whole, place, brokers, zookeeper=draw(st.booleans()), later=later)
        found.append(replace(look, vantages=()) if draw(st.booleans()) else look)
    return found


@settings(max_examples=60, deadline=None)
@given(looks(), st.randoms(use_true_random=False))
def test_the_order_of_files_and_a_file_given_twice_change_nothing(given_looks: list[Snapshot], chance: object) -> None:
    merged = merge(given_looks)
    shuffled = [*given_looks, given_looks[0]]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    again = merge(shuffled)
    assert again == merged
    assert list(again.views) == list(merged.views)
    assert diagnose(again) == diagnose(merged)


@settings(max_examples=60, deadline=None)
@given(looks())
def test_one_snapshot_stays_what_it_is_but_for_its_vantage(given_looks: list[Snapshot]) -> None:
    look = given_looks[0]
    merged = merge([look, look])
    assert replace(merged, vantages=()) == replace(look, vantages=())
    assert len(merged.vantages) == 1


@settings(max_examples=60, deadline=None)
@given(looks())
def test_every_broker_that_one_vantage_reached_is_in_the_result(given_looks: list[Snapshot]) -> None:
    merged = merge(given_looks)
    # What such a broker answered is no longer true, and the result says so.
    gone = {int(found[1]) for text in merged.outdated if (found := re.match(r"broker (\d+): .* not registered", text))}
    for vantage in merged.vantages:
        for who in vantage.reached:
            kind, _, name = who.partition(" ")
            assert kind == "zookeeper" or int(name) in {*merged.views, *gone}
        assert not set(vantage.reached) & vantage.unreached.keys()
    assert {*merged.views, *gone} == {b for s in given_looks for b in s.views}
    assert gone.isdisjoint(merged.views)
    assert not merged.silent.keys() & merged.views.keys() or len(given_looks) == 1
    assert len(merged.vantages) == len(given_looks)
