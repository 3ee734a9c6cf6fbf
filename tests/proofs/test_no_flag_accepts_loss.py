"""Proof: no argument vector, and nothing typed but the exact phrase, loses a record or lowers what keeps them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
import typer
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.heal.actions.durability import gate_of
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.plan.planfile import read
from kfix.shell.app import app
from tests.proofs.hostile import CASES, in_time
from tests.proofs.scenarios import RUNBOOKS
from tests.unit.heal.fake_wiring import FakeWiring


@dataclass(frozen=True)
class Way:
    """A runbook, the incident, and the parameters with which a plan has a typed step."""

    runbook: str
    incident: str
    params: tuple[str, ...]
    before: Mapping[str, str] | None = None


WAYS = {
    "unclean": Way("unclean-election", "isr-gone", ("max_loss=-1",)),
    "known end": Way("unclean-election", "isr-gone", ("max_loss=50", "known_end=120", "known_epoch=0")),
    "relax": Way("under-min-isr", "under-min-isr", ("relax_to=1",)),
    "lower": Way("durable-defaults", "weak-topic", ("topic=orders", "min_isr=1"), {"min.insync.replicas": "2"}),
}
COMMANDS = ("apply", "plan", "resume", "rollback", "abort", "verify", "countersign", "throttle")


class Watched:
    """The cluster, with an eye on calls that lose records, or make it easier to lose them one day."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.lossy: list[str] = []
        elect, alter, read_settings = cluster.elect, cluster.alter_configs, cluster.settings.read

        def watched_elect(tp: Any, *, unclean: bool) -> ChangeResult:
            if unclean and not set(cluster.records.states[tp].isr) & cluster.control.live:
                self.lossy.append(f"elect {tp}")
            return elect(tp, unclean=unclean)

        def watched_alter(kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
            now = read_settings(kind, name)
            for key, value in changes.items():
                old = str(now[key].value) if key in now else "(absent)"
                if gate_of(key, old, "(absent)" if value is None else value) is Gate.TYPED:
                    self.lossy.append(f"{name}: {key} {old} -> {value}")
            return alter(kind, name, changes)

        cluster.elect = watched_elect  # type: ignore[method-assign]
        cluster.alter_configs = watched_alter  # type: ignore[method-assign]


class Desk:
    """A command line, with or without a terminal, on a fresh cluster with one plan made beforehand."""

    def __init__(self, way: Way, folder: Path, *, terminal: bool) -> None:
        incident = INCIDENTS[way.incident]()
        self.cluster, self.folder, self.terminal = incident.cluster, folder, terminal
        if way.before:
            self.cluster.records.topic_configs["orders"] = dict(way.before)
        self.fake = FakeWiring(self.cluster, incident.finding)
        self.watched = Watched(self.cluster)
        self.plan_path = folder / "plan.json"

    def kfix(self, args: Sequence[str], typed: str = "") -> Result:
        behind = self.fake.app(self.folder / "state", self.cluster.clock)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kfix.heal.report.keyboard.Terminal.interactive", self.terminal)
            patch.setattr("kfix.heal.report.keyboard.typed_line", self.typed_line)
            return CliRunner().invoke(command_line(), ["runbook", *args], input=typed, obj=behind)

    def typed_line(self, _within: float | None) -> str | None:
        """There is no terminal to read here: a person who takes their time over each line."""
        self.cluster.clock.sleep(5.0)
        return sys.stdin.readline() or None

    def given(self, name: str) -> Plan:
        """The plan that was made of this way once; it is of the very same cluster, at the very same time."""
        made_at, text = made(name)
        self.cluster.clock.at = made_at
        self.plan_path.write_text(text, encoding="utf-8")
        return read(self.plan_path)

    def planned(self, way: Way) -> Plan:
        params = [word for param in way.params for word in ("-p", param)]
        result = self.kfix(["plan", way.runbook, *params, "--output-file", str(self.plan_path)])
        assert result.exit_code == 0, result.output
        return read(self.plan_path)


@cache
def command_line() -> Any:
    """What the app is made into for every call; made once it saves two thirds of the time."""
    return typer.main.get_command(app)


@cache
def made(name: str) -> tuple[float, str]:
    with TemporaryDirectory() as folder:
        desk = Desk(WAYS[name], Path(folder), terminal=False)
        desk.planned(WAYS[name])
        return desk.cluster.clock.at, desk.plan_path.read_text(encoding="utf-8")


@cache
def options(command: str) -> tuple[click.Parameter, ...]:
    return tuple(command_line().get_command(None, "runbook").get_command(None, command).params)


def near_misses(phrase: str) -> list[str]:
    """Everything but the phrase itself."""
    parts = phrase.split("/")
    found = [phrase[:-1], phrase[1:], phrase.upper(), phrase.title(), phrase + "x", phrase + " 2", phrase * 2, "", " "]
    found += ["/".join(parts[:-1]), "/".join(reversed(parts)), phrase.replace("/", " "), phrase.replace(" ", "")]
    found += [f"{phrase}\u200b", phrase.replace("o", "\u043e"), f"'{phrase}'", f"{phrase}=", f"={phrase}", "y", "yes"]
    found += ["*", ".*", "true", "1", phrase.replace("1", "2"), phrase.replace("2", "3"), phrase.replace(" ", "\u00a0")]
    return [text for text in found if text.strip() != phrase]


def value_for(option: click.Parameter, plan: Plan, desk: Desk, random: Random) -> str:
    typed = next(s for s in plan.steps if s.gate >= Gate.TYPED)
    short, steps = plan.short_id, [s.id for s in plan.steps]
    runs = sorted(p.name for p in (desk.folder / "state").rglob("runs/*")) or ["none"]
    words = {
        "approve": [
            f"plan:{short}",
            f"step:{short}",
            f"typed:{short}",
            "step:00000000",
            f"step:{plan.plan_id}",
            "step",
        ],
        "ack": [f"{random.choice([typed.id, *steps])}={text}" for text in near_misses(typed.phrase)],
        "plan_file": [str(desk.plan_path)] * 5 + [str(desk.folder / "other.json")],
        "plan": [str(desk.plan_path)],
        "name": [*RUNBOOKS, plan.runbook.id, plan.runbook.id, plan.runbook.id],
        "run": [random.choice(runs), short],
        "param": ["max_loss=-1", "max_loss=0", "relax_to=1", "known_end=120", "topic=orders", "min_isr=1", "x=y"],
        "did": steps,
        "reason": ["because"],
        "rate": ["1MB/s"],
        "output": [str(desk.folder / f"out-{random.randrange(9)}.json")],
        "countersign": [str(desk.plan_path), str(desk.folder / "signed")],
        "finding": [plan.finding.key, "KFX103:x"],
    }
    return random.choice(words.get(str(option.name), ["1", "x", str(desk.folder)]))


def argument_vector(plan: Plan, desk: Desk, random: Random) -> list[str]:
    command = random.choice([*COMMANDS, "apply", "apply", "apply", "resume"])
    args = [command]
    likely = {"approve", "ack", "plan_file", "run", "step", "did"}
    for option in options(command):
        wanted = random.random() < (0.7 if option.name in likely else 0.08)
        if isinstance(option, click.Argument):
            args += [value_for(option, plan, desk, random)] if option.required or random.random() < 0.3 else []
            continue
        if not wanted and not option.required:
            continue
        for _ in range(random.choice((1, 1, 2)) if option.multiple else 1):
            args.append(random.choice(option.opts))
            if not getattr(option, "is_flag", False):
                args.append(value_for(option, plan, desk, random))
    args += random.choice(([], [], [], ["--yes"], ["--force"], ["-y"], ["--", "y"], ["--ack"], ["--no-gate"]))
    return args


def typing(plan: Plan, random: Random) -> str:
    phrase = next(s for s in plan.steps if s.gate >= Gate.TYPED).phrase
    keys = ["y", "y", "y", "yes", "n", "d", "?", "r", "s", ""]
    return "".join(f"{random.choice([*keys, *near_misses(phrase)])}\n" for _ in range(random.randrange(12)))


@settings(
    max_examples=max(300, CASES // 50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 2**63), st.sampled_from(sorted(WAYS)), st.booleans())
def test_without_the_exact_phrase_nothing_is_lost(seed: int, name: str, terminal: bool) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder, in_time():
        desk = Desk(WAYS[name], Path(folder), terminal=terminal)
        plan = desk.given(name)
        for _ in range(random.choice((1, 2, 3))):
            args = argument_vector(plan, desk, random)
            typed = typing(plan, random)
            result = desk.kfix(args, typed)
            assert "Traceback" not in result.output, (args, result.output)
            assert result.exception is None or isinstance(result.exception, SystemExit), (args, result.exception)
            assert desk.watched.lossy == [], (args, typed, result.output)


@pytest.mark.parametrize("name", sorted(WAYS))
@pytest.mark.parametrize("terminal", [False, True])
def test_with_the_phrase_it_is_done(name: str, terminal: bool, tmp_path: Path) -> None:
    """The control: the eye sees it, and the way there is open to who types what is asked."""
    desk = Desk(WAYS[name], tmp_path, terminal=terminal)
    plan = desk.planned(WAYS[name])
    typed = [s for s in plan.steps if s.gate >= Gate.TYPED]
    args = ["apply", "--plan", str(desk.plan_path)]
    if terminal:
        answers = "".join(f"{s.phrase}\n" if s.gate is Gate.TYPED else "y\n" for s in plan.steps if s.gate > Gate.AUTO)
        result = desk.kfix(args, answers)
    else:
        acks = [word for s in typed for word in ("--ack", f"{s.id}={s.phrase}")]
        result = desk.kfix([*args, "--approve", f"step:{plan.short_id}", *acks])
    assert len(desk.watched.lossy) == len(typed) == 1, result.output
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", sorted(WAYS))
def test_each_near_miss_by_flag_and_by_hand(name: str, tmp_path: Path) -> None:
    first = Desk(WAYS[name], tmp_path, terminal=False)
    plan = first.given(name)
    typed = next(s for s in plan.steps if s.gate >= Gate.TYPED)
    base = ["apply", "--plan", str(first.plan_path), "--approve", f"step:{plan.short_id}"]
    for number, text in enumerate(near_misses(typed.phrase)):
        for terminal in (False, True):
            shutil.rmtree(tmp_path / "state", ignore_errors=True)
            desk = Desk(WAYS[name], tmp_path, terminal=terminal)
            desk.given(name)
            more = [] if terminal else ["--ack", f"{typed.id}={text}"]
            result = desk.kfix([*base, *more], f"{text}\n" * 5 if terminal else "")
            assert desk.watched.lossy == [], (number, text, result.output)
            assert result.exit_code in {3, 4, 6}, (number, text, result.output)
