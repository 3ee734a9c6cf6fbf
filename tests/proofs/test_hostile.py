"""Proof: whatever is in a file, kfix gives a value or a refusal of its own, and sends nothing that it must not."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from kfix.core.errors import KfixError, UnreachableError
from kfix.heal.execution.run import abort
from kfix.heal.journal.runs import summaries, summary
from kfix.heal.model.plan import Plan
from kfix.heal.plan import planfile
from kfix.heal.plan.steps import explain
from kfix.heal.planning.planner import AlreadyMet
from kfix.heal.report.history import print_records, print_runs
from kfix.heal.report.plan import print_plan
from kfix.heal.rollback import make_rollback
from kfix.heal.runbook.catalogue import shipped_dir
from kfix.heal.runbook.load import load_text
from tests.proofs.calls import expected_call
from tests.proofs.hostile import CASES, in_time, mutated_bytes, mutated_json, mutated_text
from tests.proofs.killing import Killing, distinct
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Moment, Stage, planned_calls, too_often

SHIPPED = {path.stem: path.read_text(encoding="utf-8") for path in shipped_dir().glob("*.yaml")}
HAPPENS = (KfixError, UnreachableError)

seeds = st.integers(0, 2**63)


def hostile(share: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    setting = settings(max_examples=max(1, CASES * share // 100), deadline=None, suppress_health_check=checks)
    return lambda test: setting(given(seeds)(test))


class Patience:
    """A person who presses Ctrl-C where a forged plan would wait for years."""

    def __init__(self, stage: Stage, looks: int = 300) -> None:
        self._clock, self._left = stage.cluster.clock, looks
        self.now, self.monotonic, self.boot = self._clock.now, self._clock.monotonic, self._clock.boot

    def sleep(self, seconds: float) -> None:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        self._clock.sleep(seconds)


# -- runbooks


@hostile(40)
def test_a_hostile_runbook_is_a_runbook_or_a_list_of_mistakes(seed: int) -> None:
    random = Random(seed)
    name = random.choice(sorted(SHIPPED))
    with in_time():
        try:
            found = load_text(mutated_text(SHIPPED[name], random), origin="x.yaml", stem=name)
        except KfixError as error:
            assert str(error)
            return
        scenario = random.choice([s for s in SCENARIOS.values() if s.runbook == name])
        stage = Stage(scenario, Path("/nonexistent"))
        stage.runbook = found
        try:
            plan = stage.plan_or_met()
        except HAPPENS as error:
            assert str(error)
            return
        if not isinstance(plan, AlreadyMet):
            assert planfile.from_json(planfile.to_json(plan), "made of it") == plan
        assert stage.calls == []


@hostile(5)
def test_hostile_bytes_of_a_runbook(seed: int) -> None:
    from kfix.heal.runbook.load import load_file

    random = Random(seed)
    name = random.choice(sorted(SHIPPED))
    with in_time(), TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_bytes(mutated_bytes(SHIPPED[name].encode(), random))
        try:
            load_file(path)
        except KfixError as error:
            assert str(error)


# -- plans

NAMES = (
    "coordinator-stuck",
    "durable-defaults",
    "raise-topic-rf",
    "unclean-election",
    "under-min-isr",
    "sweep-throttles",
)


@cache
def made(name: str) -> tuple[Stage, Moment, Plan, dict[str, Any]]:
    folder = Path(mkdtemp(prefix="kfix-hostile-"))
    stage = Stage(next(s for n, s in SCENARIOS.items() if n.startswith(name)), folder / "home" / "kfix")
    stage.store.runs_dir.mkdir(parents=True)
    plan = stage.plan()
    return stage, stage.moment(folder / "start", "planned"), plan, json.loads(planfile.to_json(plan))


def resealed(data: Any) -> str:
    """Under a right hash, as a forger would: what is wrong with it is not that it was changed."""
    if isinstance(data, dict):
        body = {k: v for k, v in data.items() if k not in {"plan_id", "impact"}}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        data = {**data, "plan_id": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}
    return json.dumps(data)


@hostile(35)
def test_a_forged_plan_does_nothing_that_its_original_would_not(seed: int) -> None:
    random = Random(seed)
    base, start, original, data = made(random.choice(NAMES))
    with in_time():
        try:
            plan = planfile.from_json(resealed(mutated_json(data, random)), "forged.json")
        except KfixError as error:
            assert str(error)
            return
        print_plan(plan, explain(plan), Console(file=io.StringIO(), markup=False))
        stage = base.at(start)
        stage.person.interactive = random.random() < 0.5
        try:
            stage.run(plan, clock=Patience(stage), given=stage.flags(plan))
        except HAPPENS as error:
            assert str(error)
        # A forger may make it take itself back, by the inverses that its original has.
        assert set(too_often(stage.calls, original)) <= _inverses(original), plan


@hostile(5)
def test_hostile_bytes_of_a_plan_are_never_run(seed: int) -> None:
    random = Random(seed)
    *_, plan, _ = made(random.choice(NAMES))
    text = planfile.to_json(plan)
    data = mutated_bytes(text.encode(), random)
    with in_time(), TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_bytes(data)
        try:
            found = planfile.read(path)
        except KfixError as error:
            assert str(error)
        else:
            assert found == plan, "only what is no part of the plan was changed"


# -- journals


@cache
def killed(name: str) -> tuple[Stage, Plan, list[Moment]]:
    folder = Path(mkdtemp(prefix="kfix-hostile-"))
    stage = Stage(next(s for n, s in SCENARIOS.items() if n.startswith(name)), folder / "home" / "kfix")
    plan = stage.plan()
    killing = Killing(stage, folder / "moments")
    stage.run(plan, changer=killing.changer)
    return stage, plan, distinct(killing.moments)


def chained(records: list[Any]) -> bytes:
    """With the right chain: what is wrong with it is not that it was edited."""
    prev, lines = "0" * 64, []
    for number, found in enumerate(records):
        record = {**found, "prev": prev, "seq": number} if isinstance(found, dict) else found
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        prev = hashlib.sha256(line).hexdigest()
        lines.append(line + b"\n")
    return b"".join(lines)


@hostile(15)
def test_a_forged_journal_is_reported_or_refused_and_nothing_unplanned_is_sent(seed: int) -> None:
    random = Random(seed)
    base, plan, moments = killed(random.choice(NAMES))
    stage = base.at(random.choice(moments))
    run = stage.last_run
    raw = run.journal_path.read_bytes()
    if random.random() < 0.2:
        run.journal_path.write_bytes(mutated_bytes(raw, random))
    else:
        run.journal_path.write_bytes(chained(_as_list(mutated_json([json.loads(x) for x in raw.splitlines()], random))))
    console = Console(file=io.StringIO(), markup=False)
    before = len(stage.calls)
    with in_time():
        print_runs(tuple(summaries(stage.store)), console)
        print_records(run.journal().records, console)
        assert summary(run).id == run.id
        for act in _acts(stage, random):
            try:
                act()
            except HAPPENS as error:
                assert str(error)
    allowed = set(planned_calls(plan)) | _inverses(plan)
    assert {*stage.calls[before:]} <= allowed
    assert max(Counter(stage.calls[before:]).values(), default=1) <= 2, "an undo may be what another step does"


def _as_list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def _acts(stage: Stage, random: Random) -> list[Callable[[], object]]:
    patient: dict[str, Any] = {"clock": Patience(stage)}
    acts: list[Callable[[], object]] = [
        lambda: make_rollback(stage.last_run, stage.cluster, stage.created(), everything=True),
        lambda: stage.resume(**patient),
        lambda: stage.resume("no-such", **patient),
        lambda: abort(stage.last_run, stage.scene_of_run(**patient), "a test"),
        lambda: stage.run(stage.last_run.plan(), **patient),
    ]
    random.shuffle(acts)
    return acts[:3]


def _inverses(plan: Plan) -> set[Any]:
    from dataclasses import replace

    undone = (replace(s, action=s.inverse.action, args=s.inverse.args) for s in plan.steps if s.inverse is not None)
    return {expected_call(step) for step in undone}


def test_a_plan_of_the_past_and_a_journal_of_nothing(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    stage.run(stage.plan())
    path = stage.last_run.journal_path
    for raw in (
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"\xff\n",
        b"[" * 100_000 + b"\n",
        b'{"seq":0}\n',
        b"9" * 5000 + b"\n",
    ):
        path.write_bytes(raw)
        assert summary(stage.last_run).notes
        with pytest.raises(KfixError):
            stage.resume()
