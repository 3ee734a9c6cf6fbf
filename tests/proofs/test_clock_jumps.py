"""Proof: whoever sets the clock of the host during a run changes neither what is done nor how long it is waited for.

A plan may then be refused, by the name of its expiry or of the clock: its time is wall time.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from kfix.core.clock_steps import clock_steps, times
from kfix.core.errors import HeldError, KfixError, RefusedError
from kfix.heal.execution.context import RunResult
from kfix.heal.journal.runs import summaries
from kfix.heal.model.plan import Plan
from kfix.heal.plan.planfile import seal
from kfix.heal.report.history import print_records, print_runs
from kfix.heal.safety.outcomes import Outcome
from kfix.incident.report.markdown import incident_markdown
from kfix.incident.timeline.build import Material
from tests.proofs.killing import EVERYWHERE, Uninterrupted, distinct
from tests.proofs.later import once
from tests.proofs.scenarios import ON_KRAFT, SCENARIOS, Scenario
from tests.proofs.stage import Moment, Stage, too_often, world

HOUR = 3600.0
#: In longer runs the clock is set once at one of each kind of record of each kind of step; by `make fuzz` at all.
LONG = 6
#: After so many of these one page of what people read is made and read.
_PAGE = 5
EVERY = [*SCENARIOS.values(), *(each for each in ON_KRAFT.values() if each not in SCENARIOS.values())]
_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_AGE = re.compile(r"(?<![\w-])-\d+(\.\d+)? ?(s|min|h|days)\b")
_BY_NAME = re.compile("expired|is accepted only while the plan is under|but it is now|set the clock|the clocks")


def recorded(good: Uninterrupted, most: int = LONG) -> Iterator[tuple[Moment, float]]:
    """A moment after a record, and by how much the clock is set then. Nothing of the run comes after the last one."""
    found = [each for each in good.moments if each.what.startswith("record")][:-1]
    if EVERYWHERE or len(found) <= most:
        return ((each, seconds) for each in found for seconds in (HOUR, -HOUR))
    unlike = [each for each in distinct(found) if each is not found[-1]]
    return zip(unlike[:: 1 + len(unlike) // most], itertools.cycle((HOUR, -HOUR)), strict=False)


def jumps(stage: Stage, seq: int, seconds: float) -> None:
    once(stage, lambda: stage.cluster.clock.step(seconds), seq=seq)


def seconds_of(good: Uninterrupted) -> float:
    return good.moments[-1].cluster.clock.slept


def in_order(stage: Stage) -> None:
    """What people read of the runs: in the order of what happened, without an age below zero."""
    page = io.StringIO()
    console = Console(file=page, width=300)
    rows = list(summaries(stage.store))
    print_runs(rows, console)
    for run in stage.store.runs():
        records = run.journal().records
        assert all(a <= b for a, b in zip(times(records), times(records)[1:], strict=False))
        print_records(records, console)
        material = Material()
        material.add_journal(records, run.id, (), run.plan())
        report = material.report("a test", "0", (None, None))
        [row] = report.runs
        assert row.ended is None or row.ended >= row.began
        page.write(incident_markdown(report))
    assert not _AGE.search(page.getvalue()), _AGE.search(page.getvalue())


@pytest.mark.parametrize("scenario", EVERY, ids=str)
def test_set_at_any_record_of_a_run_the_clock_changes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    good = Uninterrupted(scenario, tmp_path)
    for number, (moment, seconds) in enumerate(recorded(good)):
        seq = int(moment.what.split()[1])
        stage = Stage(scenario, tmp_path / f"{number}" / "kfix")
        plan = stage.plan()
        assert world(stage.cluster) == good.before
        jumps(stage, seq, seconds)
        what = f"{seconds:+.0f} s at {moment.what}"
        try:
            done = stage.run(plan)
        except KfixError as error:
            refused = str(error)
            assert _BY_NAME.search(refused), f"{what}: {refused}"
            assert not too_often(stage.calls, plan), what
            in_order(stage)
            continue
        slept = stage.cluster.clock.slept
        assert (done.outcome, done.left) == (good.healed.outcome, good.healed.left), what
        assert slept == pytest.approx(seconds_of(good)), what
        assert stage.calls == good.stage.calls, what
        assert world(stage.cluster) == good.after, what
        [step] = clock_steps(stage.journal())
        assert step.seq == seq + 1, what
        assert step.seconds == pytest.approx(seconds, abs=0.01), what
        if number % _PAGE == 0:
            in_order(stage)


def outcome_of(act: Callable[[], RunResult | tuple[Plan, RunResult]]) -> str:
    try:
        found = act()
    except KfixError as error:
        return _RUN.sub("RUN", str(error))
    result = found[1] if isinstance(found, tuple) else found
    return f"{result.outcome} {result.left}"


@pytest.mark.parametrize("scenario", EVERY, ids=str)
def test_set_between_the_death_of_a_run_and_its_resume_or_rollback_it_changes_nothing(
    scenario: Scenario, tmp_path: Path
) -> None:
    good = Uninterrupted(scenario, tmp_path)
    for act in (Stage.resume, Stage.roll_back):
        for number, (moment, seconds) in enumerate(recorded(good, LONG // 2)):
            right, stage = good.stage.at(moment), good.stage.at(moment)
            stage.cluster.clock.step(seconds)
            wanted, found = outcome_of(partial(act, right)), outcome_of(partial(act, stage))
            what = f"{act.__name__}, {seconds:+.0f} s, {moment.what}"
            if number % _PAGE == 0:
                in_order(stage)
            if found != wanted:
                assert _BY_NAME.search(found), f"{what}: {found}, not {wanted}"
                continue
            assert stage.cluster.clock.slept == pytest.approx(right.cluster.clock.slept), what
            assert stage.calls == right.calls, what
            assert world(stage.cluster) == world(right.cluster), what
            # The rollback is the later run, whatever the clock shows.
            first, *others = stage.store.runs()
            assert all(stage.journal(run)[0]["undoes"] == first.id for run in others), what


@pytest.mark.parametrize("seconds", [HOUR, -HOUR, 48 * HOUR, -48 * HOUR])
def test_a_cooldown_is_neither_prolonged_nor_cut_short(seconds: float, home: Path) -> None:
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    stage.run(stage.plan())
    plan, clock = stage.last_run.plan(), stage.cluster.clock
    clock.step(seconds)

    def again(name: str) -> RunResult:
        fresh = replace(plan, created=stage.created(), expires_at=clock.now() + 60)
        return stage.run(seal(replace(fresh, finding=replace(plan.finding, obj=name))))

    with pytest.raises(HeldError, match=r" [0-3] s ago in run") as caught:
        again("one")
    assert re.search(r"try again in (5[6-9]|60) s", caught.value.hint or "")
    stage.cluster.advance(plan.caps.cooldown + 1)
    assert again("two").outcome is Outcome.ALREADY_HEALTHY
    in_order(stage)


def test_after_a_boot_a_change_of_the_future_names_the_clock_until_the_host_has_been_up_for_the_cooldown(
    home: Path,
) -> None:
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    stage.run(stage.plan())
    plan, clock = stage.last_run.plan(), stage.cluster.clock
    clock.step(-HOUR)
    clock.reboot("later")
    fresh = seal(replace(plan, created=stage.created(), expires_at=clock.now() + 600, title="again"))
    with pytest.raises(HeldError, match=r"but it is now \S+ on this host") as caught:
        stage.run(fresh)
    assert "correct the clock" in (caught.value.hint or "")
    assert "ago" not in str(caught.value)
    clock.sleep(plan.caps.cooldown + 1)
    assert stage.run(fresh).outcome is Outcome.ALREADY_HEALTHY


def test_a_clock_that_is_set_back_keeps_no_plan_alive(home: Path) -> None:
    """A typed phrase is accepted for 5 minutes; the person takes 6, and the clock is an hour behind meanwhile."""
    stage = Stage(SCENARIOS["unclean-election"], home)
    plan = stage.plan()
    once(stage, lambda: stage.cluster.clock.step(-HOUR), type="gate.asked")
    stage.person.reads = plan.expires_at - stage.cluster.clock.now() + 60
    with pytest.raises(RefusedError, match=r"expired at|while the plan is under 5 minutes old"):
        stage.run(plan)
    assert stage.calls == []


def test_a_plan_of_the_future_is_refused_by_the_name_of_the_clocks(home: Path) -> None:
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    plan = stage.plan()
    stage.cluster.clock.step(-HOUR)
    with pytest.raises(RefusedError, match="but it is now") as caught:
        stage.run(plan)
    assert "correct the clocks" in (caught.value.hint or "")
    stage.cluster.clock.step(2 * HOUR)
    with pytest.raises(RefusedError, match="expired at"):
        stage.run(plan)
    assert stage.calls == []


@pytest.mark.parametrize("seconds", [0.0, HOUR, -HOUR])
def test_the_history_states_where_the_clock_was_set(seconds: float, home: Path) -> None:
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    plan = stage.plan()
    once(stage, lambda: stage.cluster.clock.step(seconds), type="step.result")
    stage.run(plan)
    page = io.StringIO()
    print_records(stage.journal(), Console(file=page, width=300))
    words = {
        0.0: "the clock of this host was set",
        HOUR: "the clock of this host was set ahead by 60 min, or the host was suspended",
        -HOUR: "the clock of this host was set back by 60 min",
    }[seconds]
    assert (words in page.getvalue()) is bool(seconds)
    [row] = summaries(stage.store)
    assert [note for note in row.notes if words in note] == ([f"{words} during the run"] if seconds else [])
