"""Proof: a run that is killed at any moment can be gone on with, comes to the same end, and issues nothing twice.

A moment is a copy of the cluster and of the disk: nothing of the process that died goes on, not even its `finally`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from kfix.core.errors import KfixError, RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.execution.run import abort
from kfix.heal.model.facts import Fact
from kfix.heal.safety.outcomes import Outcome
from kfix.heal.safety.refusals import PlannedFacts
from tests.proofs.killing import EVERYWHERE, Killing, Uninterrupted, distinct
from tests.proofs.scenarios import ON_KRAFT, RUNBOOKS, SCENARIOS, Scenario
from tests.proofs.stage import Moment, Stage, too_often, world

# Long runs of moves are killed at the moments that differ, by `make fuzz` at all; one of them always at all, and one of
# each runbook on KRaft after each record. `raise-offsets-rf` moves replicas as `raise-topic-rf` does, in longer runs.
LONG, WHOLE = 40, "coordinator-stuck"
EVERY = [*SCENARIOS.values(), *(each for each in ON_KRAFT.values() if each not in SCENARIOS.values())]


def goes_on(good: Uninterrupted, stage: Stage, what: str, spare: int = 0) -> None:
    """`spare`: how many calls the cluster swallowed without a trace, so that they look as if never made."""
    try:
        healed = stage.resume()
    except KfixError as error:
        raise AssertionError(f"killed at {what}: {error}") from error
    assert (healed.outcome, healed.left) == (Outcome.PROVED, good.healed.left), what
    assert too_often(stage.calls, good.plan).total() <= spare, what
    assert world(stage.cluster) == good.after, what


def is_whole(scenario: Scenario) -> bool:
    return scenario in ON_KRAFT.values() and scenario.runbook != "raise-offsets-rf"


def is_swallowed(good: Uninterrupted, moment: Moment, stage: Stage) -> bool:
    """The cluster said yes and did nothing, and nobody wrote the yes down: nobody can tell it from no call."""
    names = good.stage.scenario.swallows
    return moment.what.startswith("call") and len(stage.calls) <= len(names)


@pytest.mark.parametrize("scenario", EVERY, ids=str)
def test_killed_at_any_moment_and_gone_on_with(scenario: Scenario, tmp_path: Path) -> None:
    good = Uninterrupted(scenario, tmp_path)
    moments = good.moments
    if len(moments) > LONG and scenario.name != WHOLE and not EVERYWHERE:
        unlike = distinct(moments)
        moments = [
            each for each in moments if each in unlike or (is_whole(scenario) and each.what.startswith("record"))
        ]
    assert (
        good.stage.calls
        or scenario.at_the_gate is not SCENARIOS["leader-balance"].at_the_gate
        or scenario.name.startswith("coordinator-not-answering: a coordinator that is loading")
    )
    for number, moment in enumerate(moments[:-1]):
        stage = stage_at(good, moment)
        # Some are gone on with at once, some when what was under way has had its time.
        stage.cluster.advance((0.0, 1.0, 20.0)[number % 3])
        goes_on(good, stage, moment.what, spare=is_swallowed(good, moment, stage))


def stage_at(good: Uninterrupted, moment: Moment) -> Stage:
    return good.stage.at(moment)


def test_each_runbook_that_acts_on_kraft_is_killed_there() -> None:
    assert set(ON_KRAFT) == {b.id for b in RUNBOOKS.values() if Mode.KRAFT in b.metadata.modes}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=str)
def test_a_run_that_has_ended_is_not_gone_on_with(scenario: Scenario, home: Path) -> None:
    stage = Stage(scenario, home)
    stage.run(stage.plan())
    calls = list(stage.calls)
    for _ in range(2):
        with pytest.raises(RefusedError, match="has ended"):
            stage.resume()
        with pytest.raises(RefusedError, match="has ended"):
            abort(stage.last_run, stage.scene_of_run(), "a test")
    assert stage.calls == calls


TWICE = [SCENARIOS[n] for n in ("coordinator-stuck", "durable-defaults", "unclean-election", "over others' throttles")]


@pytest.mark.parametrize("scenario", TWICE, ids=str)
def test_killed_and_killed_again_in_the_resume(scenario: Scenario, tmp_path: Path) -> None:
    good = Uninterrupted(scenario, tmp_path)
    firsts = distinct(good.moments)[:-1]
    for number, first in enumerate(firsts if EVERYWHERE else firsts[:: max(1, len(firsts) // 12)]):
        second = stage_at(good, first)
        killing = Killing(second, tmp_path / f"second-{number}")
        second.resume(changer=killing.changer)
        chosen = distinct(killing.moments)[:-1]
        for moment in chosen if EVERYWHERE else chosen[number % 3 :: max(1, len(chosen) // 6)]:
            goes_on(good, second.at(moment), f"{first.what}, then {moment.what}")


def test_killed_before_the_facts_of_a_verified_change_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after a call a broker of KRaft still shows the old settings, and the run journals these at first."""
    refresh, seen = PlannedFacts.refresh, set[tuple[str, ...]]()

    def late(self: PlannedFacts, keys: Iterable[str], reader: ClusterReader) -> Mapping[str, Fact]:
        now = tuple(keys)
        if now in seen or not all(key.startswith("config:") for key in now):
            return refresh(self, now, reader)
        seen.add(now)
        return {key: self._facts[key] for key in now if key in self._facts}

    with monkeypatch.context() as patch:
        patch.setattr(PlannedFacts, "refresh", late)
        good = Uninterrupted(SCENARIOS["over others' throttles"], tmp_path)
    died = [m for m in distinct(good.moments) if "step.verified" in m.what]
    assert seen
    assert any("throttle" in moment.what for moment in died)
    for moment in died:
        goes_on(good, stage_at(good, moment), moment.what)


@pytest.mark.parametrize("name", ["coordinator-stuck", "durable-defaults", "over others' throttles"])
def test_a_run_with_a_torn_last_line_is_reported_and_continued(name: str, tmp_path: Path) -> None:
    """The record that was being written is gone; what it was about is looked for on the cluster."""
    good = Uninterrupted(SCENARIOS[name], tmp_path)
    records = [m for m in distinct(good.moments) if m.what.startswith("record")]
    for moment in records[1:-1]:
        stage = stage_at(good, moment)
        path = stage.last_run.journal_path
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
        goes_on(good, stage, f"the middle of {moment.what}")
        told = [r for r in stage.journal() if r["type"] == "run.resumed"]
        assert [r["torn"] for r in told] == [True]


def test_a_broken_middle_is_refused(tmp_path: Path) -> None:
    good = Uninterrupted(SCENARIOS["durable-defaults"], tmp_path)
    moment = good.moments[-4]
    count = len(stage_at(good, moment).journal())
    for number in range(count - 1):
        stage = stage_at(good, moment)
        calls = list(stage.calls)
        path = stage.last_run.journal_path
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for broken in (
            lines[:number] + lines[number + 1 :],
            [*lines[:number], lines[number].replace(b'"v":1', b'"v":2'), *lines[number + 1 :]],
            [*lines[:number], lines[number][: len(lines[number]) // 2] + b"\n", *lines[number + 1 :]],
            [*lines[:number], b"\n", *lines[number:]],
        ):
            path.write_bytes(b"".join(broken))
            for act in (stage.resume, lambda: abort(stage.last_run, stage.scene_of_run(), "a test")):  # noqa: B023
                with pytest.raises(RefusedError, match="what the run did after that is unknown"):
                    act()
            with pytest.raises(RefusedError, match="is unknown"):
                stage.roll_back()
            assert path.read_bytes() == b"".join(broken)
        path.write_bytes(whole)
        assert stage.calls == calls


ABORTED = [SCENARIOS[n] for n in ("raise-topic-rf", "over others' throttles", "given moves")]


@pytest.mark.parametrize("scenario", ABORTED, ids=str)
def test_abort_after_a_kill_restores_the_throttles_exactly_and_changes_nothing_else(
    scenario: Scenario, tmp_path: Path
) -> None:
    good = Uninterrupted(scenario, tmp_path)
    restores = [s for s in good.plan.steps if s.phase == "always"]
    throttling = {r["seq"] for r in good.stage.journal() if r["type"] == "step.intent"}
    assert restores
    assert throttling
    for moment in distinct(good.moments)[:-1]:
        stage = stage_at(good, moment)
        before = len(stage.calls)
        try:
            abort(stage.last_run, stage.scene_of_run(), "a test")
        except KfixError as error:
            raise AssertionError(f"killed at {moment.what}: {error}") from error
        assert {c.method for c in stage.calls[before:]} <= {"alter_configs"}, moment.what
        assert not too_often(stage.calls, good.plan), moment.what
        now = world(stage.cluster)
        assert (now.topics, now.brokers) == (good.before.topics, good.before.brokers), moment.what
        end = stage.journal()[-1]
        assert (end["type"], end["outcome"], end["left"]) == ("run.end", "aborted", []), moment.what
