"""Throttles that the ending of a stopped run put back are set again by the run that goes on, and put back again."""

from functools import partial
from types import SimpleNamespace

import pytest

from kfix.heal.journal.replay import Replay, begin_again, replay
from kfix.heal.model.plan import Phase, PlannedStep


def step(name, action, *, phase=Phase.MAIN, inverse="", moved=0):
    undo = SimpleNamespace(action=inverse, args=name.partition(":")[2]) if inverse else None
    args = name.partition(":")[2]
    made = SimpleNamespace(
        id=name, action=action, args=args, phase=phase, inverse=undo, estimate=SimpleNamespace(replicas_moved=moved)
    )
    made.undone_by = partial(PlannedStep.undone_by, made)
    return made


PLAN = SimpleNamespace(
    steps=(
        step("slow:1", "rate", inverse="restore"),
        step("slow:2", "rate", inverse="restore"),
        step("move", "move", moved=1),
        step("free:2", "restore", phase=Phase.ALWAYS),
        step("free:1", "restore", phase=Phase.ALWAYS),
    )
)
PLAN.restoring = tuple(s for s in PLAN.steps if s.phase is Phase.ALWAYS)


@pytest.mark.parametrize(
    ("done", "verified", "left"),
    [
        # Nothing was put back yet.
        (["slow:1", "slow:2"], [], ["slow:1", "slow:2"]),
        (["slow:1", "slow:2", "move"], ["move"], ["slow:1", "slow:2", "move"]),
        # Stopped while it copied: all of it again.
        (["slow:1", "slow:2", "move", "free:2", "free:1"], [], ["move"]),
        # Killed while it put back after Ctrl-C: what is still on stays on.
        (["slow:1", "slow:2", "move", "free:2"], [], ["slow:1", "move"]),
        # All has arrived: nothing is throttled once more.
        (
            ["slow:1", "slow:2", "move", "free:2", "free:1"],
            ["move"],
            ["slow:1", "slow:2", "move", "free:2", "free:1"],
        ),
        # The second life set one again: that one is to be put back again, also where all has arrived meanwhile.
        (["slow:2", "move", "free:2", "free:1", "slow:1"], ["move"], ["slow:2", "move", "free:2", "slow:1"]),
    ],
)
def test_what_an_ending_took_back_is_made_again_only_while_replicas_are_to_be_copied(done, verified, left):
    found = Replay(done=list(done), verified=set(verified) | {"slow:1"})
    begin_again(found, PLAN)
    assert found.done == left
    assert ("slow:1" in found.verified) == ("slow:1" in left)


INTENT = {"type": "step.intent", "step": "move", "pre_image": {}}


@pytest.mark.parametrize(
    ("changed", "done", "open_"), [(None, [], ["move"]), (False, [], []), (True, ["move"], [])], ids=str
)
def test_a_change_without_an_answer_stays_open(changed, done, open_):
    found = replay([INTENT, {"type": "step.result", "step": "move", "changed": changed}])
    assert (found.done, [*found.open]) == (done, open_)


@pytest.mark.parametrize("name", ["changed", "left", "under_way"])
def test_an_end_without_a_list_of_what_stands_leaves_it_unknown(name):
    whole = {"type": "run.end", "outcome": "refused", "changed": [], "left": [], "under_way": []}
    assert replay([whole]).nothing_stands
    assert not replay([{**whole, name: ["x"]}]).nothing_stands
    assert not replay([{key: value for key, value in whole.items() if key != name}]).nothing_stands


def test_a_step_that_changed_nothing_leaves_no_new_facts():
    assert replay([{"type": "step.verified", "step": "wait"}]).unmoved == {}
    changed = [
        INTENT,
        {"type": "step.result", "step": "move", "changed": True},
        {"type": "facts.updated", "step": "move"},
    ]
    assert replay([*changed, {"type": "step.verified", "step": "move"}]).unmoved == {"move": {}}
