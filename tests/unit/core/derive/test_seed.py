"""Which copy of the metadata log a quorum is recovered from, and what is not known well enough to recover it."""

import pytest

from kfix.core.derive.seed import FENCE, fence_of, seed_of
from kfix.core.errors import RefusedError
from kfix.core.snapshot.recovery import CopyRead

LONG = CopyRead("/d/11", "c", 11, 5, 100, 5, held=True, voters=(1, 2, 3))
LEFT = CopyRead("/d/3", "c", 3, 5, 98, 28, voters=(1, 2, 3))
APPLIED = {11: 99, 12: 99}


def chosen(*copies, applied=APPLIED, node=3, lost=(1, 2), unread=()):
    return seed_of(copies, applied, node, lost, unread)


def test_the_longest_copy_is_the_seed_also_if_it_is_a_brokers_and_its_broker_runs():
    assert chosen(LONG, LEFT) == LONG


def test_the_fence_is_far_above_every_epoch_that_any_node_has_seen():
    assert fence_of((LONG, LEFT)) == 28 + FENCE
    with pytest.raises(RefusedError, match="too large"):
        fence_of((LONG, LEFT._replace(seen_epoch=2**31 - FENCE)))


def test_all_controllers_may_be_lost():
    assert chosen(LONG, lost=(1, 2, 3)) == LONG


@pytest.mark.parametrize(
    ("copies", "given", "why"),
    [
        ((LONG, LEFT), {"applied": {11: 99, 12: 100}}, "broker 12 applied offset 100: it would stop at once"),
        ((LONG, LEFT._replace(held=True)), {}, "controller 3 runs on /d/3: stop it first"),
        ((LONG, LEFT), {"lost": (1,)}, r"\[2, 3\] are not lost, and they are a majority"),
        ((LONG, LEFT), {"lost": (1, 2, 3)}, "the log of controller 3 is in /d/3, so it is not lost"),
        ((LONG, LEFT), {"lost": (1, 2, 9)}, "lost=9: not one of the voters"),
        ((LONG, LEFT), {"node": 9}, "node 9 is not one of the voters"),
        ((LONG,), {}, r"nodes \[3\] were not read.*-p unread=3"),
        ((LONG, LEFT), {"applied": {11: 99, 12: -1}}, r"nodes \[12\] were not read"),
        ((LONG, LEFT._replace(own=2)), {}, "/d/3: has diverged"),
        ((LONG, LEFT._replace(unread="is torn")), {}, "the copy in /d/3 was not read whole: is torn"),
        ((LONG, LEFT._replace(node=-1)), {}, "/d/3: its node is unknown"),
        ((LONG, LEFT._replace(node=11)), {}, "another copy of node 11"),
        ((LONG._replace(voters=()), LEFT), {}, "no copy names the voters"),
        ((LONG, LEFT), {"applied": {3: 97, **APPLIED}}, r"nodes \[3\] are controllers and brokers at once"),
    ],
)
def test_what_could_cost_metadata_or_brokers_is_refused(copies, given, why):
    with pytest.raises(RefusedError, match=why):
        chosen(*copies, **given)


def test_what_cannot_be_read_may_be_stated():
    assert chosen(LONG, applied={11: 99, 12: -1}, unread=(3, 12)) == LONG
