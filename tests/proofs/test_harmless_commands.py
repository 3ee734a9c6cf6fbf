"""Proof: the commands themselves, with hostile snapshots, pasted text, plans, journals, logs, options and errors."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pexpect
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from kfix.core.errors import RefusedError
from kfix.core.harmless import is_dangerous
from kfix.shell.app import app
from tests.places import ROOT
from tests.proofs.hostile import CASES
from tests.proofs.poison import ALL_PIECES, FORGED, assert_harmless, assert_page, hostile_texts, poisoned_json
from tests.unit.incident.timeline.stories import RUN, records
from tests.waiting import seconds

SNAPSHOTS = sorted((ROOT / "examples" / "snapshots").glob("*.json.gz"))
seeds = st.integers(0, 2**32)
LOOK = settings(
    max_examples=max(4, CASES // 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def kfix(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def harmless(result: Result, *, document: bool = False) -> Result:
    assert "internal error" not in result.stderr, result.stderr
    assert "Traceback" not in result.output
    assert_harmless(result.stdout, document=document)
    assert_harmless(result.stderr)
    return result


def hostile_snapshot(folder: Path, text: str, seed: int) -> Path:
    random = Random(seed)
    raw = json.loads(gzip.decompress(random.choice(SNAPSHOTS).read_bytes()))
    share = random.choice((0.05, 0.2, 0.5))
    path = folder / "look.json"
    head = {k: raw.pop(k) for k in list(raw) if k in {"format", "version", "kfix_snapshot"}}
    path.write_text(json.dumps({**head, **poisoned_json(raw, text, random, share)}))
    return path


@LOOK
@given(text=hostile_texts, seed=seeds)
@example(text=ALL_PIECES, seed=1)
def test_a_hostile_snapshot(text: str, seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = hostile_snapshot(Path(folder), text, seed)
        harmless(kfix("diagnose", "--from", path, "--prevention"))
        said = harmless(kfix("diagnose", "--from", path, "--json"))
        if said.exit_code in {0, 20, 21, 22}:
            json.loads(said.stdout)
        harmless(kfix("diagnose", "--from", path, "--nagios"))
        forecast = harmless(kfix("whatif", "--from", path, "--json"))
        if forecast.exit_code in {0, 20, 21}:
            first = json.loads(forecast.stdout)["brokers"][0]
            harmless(kfix("whatif", "--from", path, "--down", f"broker={first}"))
        harmless(kfix("snapshot", "show", path))
        said = harmless(kfix("snapshot", "show", path, "--json"))
        if said.exit_code == 0:
            json.loads(said.stdout)
        harmless(kfix("report", "incident", "--from", path), document=True)
        page = Path(folder) / "page.html"
        harmless(kfix("report", "incident", "--from", path, "--html", page, "--title", text[:20].replace("\ud800", "")))
        if page.exists():
            assert_page(page.read_text())


def test_hostile_names_do_reach_the_outputs_and_are_seen_as_escapes(tmp_path: Path) -> None:
    raw = json.loads(gzip.decompress((ROOT / "examples" / "snapshots" / "coordinator-stuck.json.gz").read_bytes()))
    text = json.dumps(raw).replace("__consumer_offsets", "__consumer_offsets\\u001b[2J\\nPROVED HEALED")
    path = tmp_path / "look.json"
    path.write_text(text)
    said = harmless(kfix("diagnose", "--from", path))
    assert r"__consumer_offsets\x1b[2J\nPROVED HEALED" in said.stdout


def test_a_hostile_group_on_the_command_line() -> None:
    group = "evil\x1b[2J\nPROVED HEALED\u202e"
    for more in ((), ("--json",)):
        said = harmless(kfix("diagnose", "--from", SNAPSHOTS[0], "--group", group, *more))
        assert said.exit_code in {0, 21, 22}
    assert json.loads(said.stdout)["group"] == group


@LOOK
@given(text=hostile_texts, seed=seeds)
@example(text=ALL_PIECES, seed=3)
def test_pasted_text_and_brokers_logs(text: str, seed: int) -> None:
    random = Random(seed)
    text = text.replace("\ud800", "")
    pasted = (ROOT / "examples" / "describe" / "stuck.txt").read_text()
    words = pasted.split(" ")
    for _ in range(3):
        at = random.randrange(len(words))
        words[at] = text + words[at]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pasted.txt"
        path.write_text(" ".join(words), newline="")
        harmless(kfix("diagnose", "--from", path))
        harmless(kfix("diagnose", "--from", path, "--json"))
        log = Path(folder) / "server.log"
        line = (
            "[2026-11-21 10:00:00,000] INFO [Partition {0}-0 broker=1] Shrinking ISR from 1,2 to 1. {0} (kafka.cluster)"
        )
        log.write_text(line.format(text) + "\n" + text + "\n", newline="")
        harmless(kfix("report", "incident", "--broker-log", log, "--log-timezone", "UTC"), document=True)
        harmless(kfix("report", "incident", "--broker-log", log, "--json"))


def chained(told: list[dict[str, Any]]) -> str:
    lines, prev = [], "0" * 64
    for number, record in enumerate(told):
        line = json.dumps({**record, "seq": number, "prev": prev})
        lines.append(line)
        prev = hashlib.sha256(line.encode()).hexdigest()
    return "\n".join(lines) + "\n"


@LOOK
@given(text=hostile_texts, seed=seeds)
@example(text=ALL_PIECES, seed=5)
def test_a_journal_whose_chain_is_right(text: str, seed: int) -> None:
    random = Random(seed)
    told = [poisoned_json(record, text, random) for record in records()]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("KFIX_STATE_HOME", folder)
        run = Path(folder) / "kfix" / "runs" / RUN
        run.mkdir(parents=True)
        (run / "journal.ndjson").write_text(chained(told))
        (run / "plan.json").write_text(json.dumps({"title": text}))
        for more in ((), ("--json",), (RUN,), (RUN, "--json")):
            said = harmless(kfix("runbook", "history", *more))
            if more[-1:] == ("--json",) and said.exit_code == 0:
                assert [json.loads(line) for line in said.stdout.splitlines()]
        for command in ("verify", "resume", "rollback"):
            harmless(kfix("runbook", command, RUN))
        harmless(kfix("runbook", "abort", RUN, "--reason", "a test"))
        harmless(kfix("report", "incident", "--from", SNAPSHOTS[0], "--journal", run), document=True)


@LOOK
@given(text=hostile_texts, seed=seeds)
@example(text=ALL_PIECES, seed=7)
def test_a_file_that_is_no_plan_no_runbook_no_inventory(text: str, seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(
            json.dumps(poisoned_json({"schema": "kfix.plan/v1", "title": "x", "steps": []}, text, random, 1))
        )
        harmless(kfix("runbook", "apply", "--plan", plan))
        harmless(kfix("runbook", "show", plan))
        book = Path(folder) / "coordinator-stuck.yaml"
        original = (ROOT / "runbooks" / "coordinator-stuck.yaml").read_text().split("\n")
        original[random.randrange(len(original))] += json.dumps(text)
        book.write_text("\n".join(original))
        for command in ("validate", "show", "doc"):
            harmless(kfix("runbook", command, book))
        fleet = Path(folder) / "fleet.yaml"
        fleet.write_text(json.dumps({"clusters": {text: {"bootstrap": text, "owner": text}}}))
        harmless(kfix("fleet", "validate", fleet))


@pytest.mark.parametrize(
    "args",
    [
        ("explain", "KFX\x1b[2J"),
        ("runbook", "show", "x\x1b[2J\nPROVED HEALED"),
        ("diagnose", "--only", "\x1b[2J\u202e"),
        ("diagnose", "--from", "no\x1b[2J\nPROVED HEALED"),
        ("\x1b[2J\nPROVED HEALED",),
        ("diagnose", "--no-such\x1b[2J"),
        ("diagnose", "--timeout", "\x9b2J"),
        ("whatif", "--from", SNAPSHOTS[0], "--down", "rack=x\x1b[2J\nPROVED HEALED"),
        ("whatif", "--from", SNAPSHOTS[0], "--down", "broker=x\x1b[2J\nPROVED HEALED"),
        ("runbook", "history", "x\x1b[2J\nPROVED HEALED"),
        ("lab", "status", "--name", "x\x1b[2J\nPROVED HEALED"),
    ],
)
def test_words_on_the_command_line_that_are_wrong(args: tuple[str, ...]) -> None:
    result = kfix(*args)
    assert result.exit_code != 0
    assert not [hex(ord(c)) for c in result.output if is_dangerous(c)]
    if args[0] != "\x1b[2J\nPROVED HEALED":  # what the parser of options repeats is what the person has just typed
        assert_harmless(result.output)


@pytest.mark.parametrize("bug", [RefusedError(f"x\n{FORGED}", hint=f"y\x1b[2J\n{FORGED}"), ValueError(f"x\n{FORGED}")])
def test_the_boundary_prints_an_error_and_its_hint_as_one_line_each(
    bug: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise bug

    monkeypatch.setattr("kfix.diagnose.cli.explain.find_page", broken)
    result = kfix("explain", "KFX101")
    assert result.exit_code in {1, 3}
    assert_harmless(result.stderr)
    assert result.stderr.count("\n") == 2
    assert rf"x\n{FORGED}" in result.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_the_net_beneath_everything_holds_in_every_encoding(encoding: str) -> None:
    """A library's warning, a traceback, a print: none of them goes through the door."""
    script = (
        "import sys, warnings\n"
        "from kfix.front.terminal import guard_streams\n"
        "guard_streams()\n"
        "print('out \\x1b[2J\\x9b2J\\u202e\\x00\\r!')\n"
        "sys.stderr.write('err \\x1b[2J\\u2028\\n')\n"
        "assert not hasattr(sys.stdout, 'buffer')\n"
        "import typer\n"
        "typer.echo('echo \\x1b[2J')\n"
        "typer.echo('echo \\x1b[2J', err=True)\n"
        "warnings.warn('warned \\x1b[2J')\n"
        "raise ValueError('raised \\x1b[2J\\x9b')\n"
    )
    env = {**os.environ, "PYTHONIOENCODING": f"{encoding}:backslashreplace", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=env, check=False, cwd=ROOT)
    for stream in (done.stdout, done.stderr):
        text = stream.decode(encoding)
        assert not [hex(ord(c)) for c in text if is_dangerous(c)]
    assert rb"out \x1b[2J\x9b2J\u202e\x00\r!" in done.stdout
    assert rb"raised \x1b[2J\x9b" in done.stderr


def test_on_a_terminal_only_colours_are_escape_sequences(tmp_path: Path) -> None:
    raw = json.loads(gzip.decompress((ROOT / "examples" / "snapshots" / "coordinator-stuck.json.gz").read_bytes()))
    evil = "\\u001b[2J\\u001b]0;owned\\u0007\\u009b2J\\r\\nPROVED HEALED"
    path = tmp_path / "look.json"
    path.write_text(json.dumps(raw).replace("__consumer_offsets", f"__consumer_offsets{evil}"))
    env = {**os.environ, "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    for command in ("diagnose --from", "snapshot show"):
        args = ["-m", "kfix", *command.split(), str(path)]
        child = pexpect.spawn(
            sys.executable, args, env=env, encoding="utf-8", timeout=seconds(60), dimensions=(50, 100)
        )
        child.expect(pexpect.EOF)
        child.close()
        plain = re.sub(r"\x1b\[[0-9;]*m", "", child.before).replace("\r\n", "\n")
        assert_harmless(plain)
        if command.startswith("diagnose"):
            assert "\x1b[" in child.before
            assert r"\x1b[2J" in plain
