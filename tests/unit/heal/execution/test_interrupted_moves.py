"""Copies of an interrupted run: a person decides, within the site's policy; without one they are left as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kfix.heal.execution.components import Components
from kfix.heal.execution.restore import InterruptedMoves, Way, choose
from kfix.heal.journal.journal import Terminated
from kfix.heal.model.plan import Gate
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.safety.door import Door
from tests.each import for_each
from tests.unit.heal.execution.parts import growing, parts
from tests.unit.heal.stage import READS_SECONDS, Answers, Stage

CANCEL_IS_TYPED = Policy({"reassign.cancel": Gate.TYPED})


@contextmanager
def asked(folder: Path, answers: list[str], policy: Policy = NO_POLICY) -> Iterator[tuple[Components, Stage]]:
    stage = Stage("weak-topic", folder, runbook="raise-topic-rf")
    stage.human = Answers(answers, reads=lambda: stage.cluster.clock.sleep(READS_SECONDS))
    plan, _ = growing(stage)
    with parts(stage, plan) as (components, _):
        components.run.passage._door = Door(stage.cluster, policy, tuple, stage.cluster.clock)
        yield components, stage


def chosen(folder: Path, answers: list[str], *, end: KeyboardInterrupt, throttled: bool, policy: Policy) -> Way:
    with asked(folder, answers, policy) as (components, stage):
        _, step = growing(stage)
        return choose(components, InterruptedMoves((step,)), end, throttled=throttled)


@for_each(
    ("answers", "throttled", "policy", "way"),
    [
        ([""], True, NO_POLICY, Way.LEAVE),
        ([], True, NO_POLICY, Way.LEAVE),
        (["c"], True, NO_POLICY, Way.CANCEL),
        (["C"], False, NO_POLICY, Way.CANCEL),
        (["u"], True, NO_POLICY, Way.UNTHROTTLED),
        (["u", "u", "u", "c"], False, NO_POLICY, Way.LEAVE),
        (["c", "c", "c", "c"], True, CANCEL_IS_TYPED, Way.LEAVE),
        (["c", "u"], True, CANCEL_IS_TYPED, Way.UNTHROTTLED),
        (["x", "yes", "cancel", "c"], True, NO_POLICY, Way.LEAVE),
    ],
)
def test_only_what_the_screen_offers_is_done(
    tmp_path: Path, answers: list[str], throttled: bool, policy: Policy, way: Way
) -> None:
    assert chosen(tmp_path, answers, end=KeyboardInterrupt(), throttled=throttled, policy=policy) is way


def test_a_process_that_is_terminated_asks_no_one(tmp_path: Path) -> None:
    assert chosen(tmp_path, ["c"], end=Terminated(), throttled=True, policy=NO_POLICY) is Way.LEAVE


@pytest.mark.parametrize("policy", [NO_POLICY, CANCEL_IS_TYPED])
def test_the_screen_offers_a_cancel_only_where_the_policy_allows_it(tmp_path: Path, policy: Policy) -> None:
    with asked(tmp_path, [""], policy) as (components, stage):
        _, step = growing(stage)
        choose(components, InterruptedMoves((step,)), KeyboardInterrupt(), throttled=True)
        assert ("[c]" in stage.human.asked[0]) is (policy is NO_POLICY)
        assert ("does not allow cancelling" in stage.human.shown[0]) is (policy is not NO_POLICY)
