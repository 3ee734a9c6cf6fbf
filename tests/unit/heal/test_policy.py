"""A site's policy: read with all of its mistakes at once, applied when planning, and held against older plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import InvalidFileError, RefusedError, UsageError
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Caps, Gate, Plan
from kfix.heal.planning.planner import make_plan
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.policyfile import load_policy, parse_policy
from tests.unit.heal.stage import Stage, created, reseal

HEAD = "apiVersion: kfix/v1\nkind: Policy\n"


def _made(stage: Stage, policy: Policy) -> Plan:
    made = make_plan(
        stage.runbook, stage.finding, stage.cluster, created=created(stage.cluster.clock.now()), policy=policy
    )
    assert isinstance(made, Plan)
    return made


def test_gates_and_limits_are_read() -> None:
    policy = parse_policy(
        f"{HEAD}gates: {{reassign.noop: typed}}\nlimits: {{max_partitions: 5, max_bytes_moved: 2GB, cooldown: 10m}}\n",
        "p",
    )
    assert policy == Policy(
        {"reassign.noop": Gate.TYPED}, {"max_partitions": 5, "max_bytes_moved": 2 * 10**9, "cooldown": 600.0}, "p"
    )
    assert parse_policy(HEAD, "p") == Policy(origin="p")


def test_all_mistakes_are_reported_with_their_places() -> None:
    text = (
        "apiVersion: kfix/v2\nkind: Policy\n"
        "gates:\n  reassign.nop: step\n  leader.elect_unclean: step\n  throttle.restore: step\n  config.set: auto\n"
        "limits:\n  max_partitons: 3\n  max_duration: 30\n  max_brokers: 0\n"
        "extra: 1\n"
    )
    with pytest.raises(InvalidFileError) as caught:
        parse_policy(text, "policy.yaml")
    assert (
        caught.value.problems
        == (
            "policy.yaml:1:13: apiVersion is 'kfix/v2', wanted 'kfix/v1'",
            "policy.yaml:4:3: unknown action 'reassign.nop', did you mean 'reassign.noop'?",
            "policy.yaml:5:25: gate 'step' is below the floor 'typed' of action leader.elect_unclean",
            "policy.yaml:6:3: throttle.restore has no gate to raise: it changes nothing, or restores earlier settings",
            "policy.yaml:7:15: config.set is 'auto', wanted 'step', 'typed' or 'two_person'",
            "policy.yaml:7:15: gate 'auto' is below the floor 'plan' of action config.set",
            "policy.yaml:9:3: unknown field 'max_partitons', did you mean 'max_partitions'?",
            "policy.yaml:10:17: max_duration: 30 is not a duration such as 200ms, 90s, 2m or 1h",
            "policy.yaml:11:16: max_brokers: input should be greater than or equal to 1",
            "policy.yaml:12:1: unknown field 'extra', did you mean 'gates'?",
        )
        or "unknown field 'extra'" in caught.value.problems[-1]
    )


@pytest.mark.parametrize("text", ["", "- a\n", "a: &x 1\nb: *x\n", "gates: {}\ngates: {}\n", "[", "\t"])
def test_what_is_no_policy_is_a_mistake_and_no_traceback(text: str) -> None:
    with pytest.raises(InvalidFileError):
        parse_policy(text, "p")


def test_no_action_can_be_given_less_than_its_floor() -> None:
    for name, action in ACTIONS.items():
        for gate in Gate:
            text = f"{HEAD}gates: {{{name}: {gate.word}}}\n"
            if gate >= max(action.gate_floor, Gate.STEP) and action.gate_floor is not Gate.AUTO:
                assert parse_policy(text, "p").gate(name) is gate
            else:
                with pytest.raises(InvalidFileError):
                    parse_policy(text, "p")


def test_a_file_that_is_missing_or_not_text_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such policy"):
        load_policy(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        load_policy(tmp_path)
    (tmp_path / "p.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        load_policy(tmp_path / "p.yaml")


def test_limits_only_become_smaller_and_the_cooldown_only_longer() -> None:
    caps = Caps(max_partitions=10, cooldown=60.0, max_brokers=5)
    policy = Policy(limits={"max_partitions": 20, "cooldown": 30.0, "max_brokers": 3, "max_bytes_moved": 7})
    assert policy.caps(caps) == replace(caps, max_brokers=3, max_bytes_moved=7)
    assert NO_POLICY.caps(caps) == caps


def test_a_plan_is_made_with_the_policy_and_passes_it(stage: Stage) -> None:
    policy = Policy({"reassign.noop": Gate.TYPED}, {"max_partitions": 3}, "p")
    plan = _made(stage, policy)
    assert {s.id: s.gate for s in plan.steps}["nudge"] is Gate.TYPED
    assert plan.caps.max_partitions == 3
    policy.refuse(plan)


def test_a_plan_over_the_policys_limits_is_not_made(stages: Callable[[str], Stage]) -> None:
    with pytest.raises(RefusedError, match="5 partitions; the limit is 4"):
        _made(stages("coordinator-stuck-five-partitions"), Policy(limits={"max_partitions": 4}))


def test_an_older_plan_is_held_to_the_policy_of_today(stage: Stage) -> None:
    policy = Policy({"reassign.noop": Gate.TYPED}, {"max_partitions": 3, "max_duration": 60.0}, "site.yaml")
    with pytest.raises(RefusedError) as caught:
        policy.refuse(stage.plan())
    text = str(caught.value)
    assert "violates the policy site.yaml" in text
    assert "step nudge: gate plan; the policy requires typed for reassign.noop" in text
    assert "limits.max_partitions: 50; the policy requires 3" in text
    assert "limits.max_duration: none; the policy requires 60" in text
    assert "nothing was changed" in text


def test_a_plan_that_takes_back_has_its_gates_raised_and_no_limits(stage: Stage) -> None:
    policy = Policy({"reassign.noop": Gate.TYPED}, {"max_partitions": 0}, "p")
    undo = reseal(stage.plan(), undoes="some-run")
    raised = policy.raised(undo)
    assert raised.plan_id != undo.plan_id
    assert {s.id: s.gate for s in raised.steps}["nudge"] is Gate.TYPED
    policy.refuse(raised)
    assert NO_POLICY.raised(undo) is undo


def test_what_asks_no_one_is_left_alone(stage: Stage) -> None:
    plan = stage.plan()
    free = reseal(plan, steps=tuple(replace(s, gate=Gate.AUTO) for s in plan.steps))
    Policy({"reassign.noop": Gate.TYPED}).refuse(free)
