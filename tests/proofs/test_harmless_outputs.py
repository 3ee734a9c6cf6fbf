"""Proof: whatever text a cluster, a plan or a journal holds, no output holds a character that a terminal acts
on, that turns text around or hides in it, and no text begins a line of its own."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from kfix.core.args import Args
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.harmless import is_dangerous
from kfix.core.run import RunSummary
from kfix.diagnose.report.group_story import group_json, print_group
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.junit import failure_junit, findings_junit
from kfix.diagnose.report.metrics import failure_metrics, findings_metrics
from kfix.diagnose.report.sarif import failure_sarif, findings_sarif
from kfix.diagnose.report.screen import print_screen
from kfix.diagnose.report.snapshot import described
from kfix.diagnose.report.table import print_findings
from kfix.diagnose.report.verdict import nagios_line
from kfix.front.terminal import say
from kfix.heal.gate.prompt import screen
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall, Gate, Plan
from kfix.heal.plan.steps import explain
from kfix.heal.report.history import print_records, print_runs
from kfix.heal.report.keyboard import Terminal
from kfix.heal.report.plan import print_differences, print_notes, print_plan
from kfix.heal.report.run import NdjsonReporter, RunReporter, closing
from kfix_diagnostics.ladder.ladder import explain_group
from tests.proofs.poison import (
    FORGED,
    assert_harmless,
    hostile,
    poisoned,
    printed,
    printed_as_lines,
)
from tests.unit.diagnose.report.machine import rules, valid_junit, valid_sarif
from tests.unit.heal.stage import Stage


@cache
def stage() -> Stage:
    from tempfile import mkdtemp

    return Stage("coordinator-stuck", Path(mkdtemp(prefix="kfix-harmless-")))


@cache
def ran() -> tuple[Plan, tuple[dict[str, Any], ...]]:
    plan = stage().plan()
    told: list[dict[str, Any]] = []
    stage().run(plan, listener=told.append)
    return plan, tuple(told)


@cache
def diagnosis() -> Diagnosis:
    found = stage().incident.finding
    folded = found.with_folded((found,))
    return Diagnosis("prod", 1_800_000_000.0, (folded, found), ("zookeeper: refused",), {"partitions": 7, "brokers": 3})


@hostile
def test_a_diagnosis(text: str) -> None:
    made = poisoned(diagnosis(), text)
    for said in printed(lambda c: print_findings(made, c)):
        assert_harmless(said)
    for said in printed_as_lines(lambda c: print_findings(made, c), lambda c: print_screen(made, c)):
        assert_harmless(said)
    assert_harmless(findings_json(made))
    assert json.loads(findings_json(made))["cluster"] == made.cluster
    for said in (findings_sarif(made, rules()), findings_metrics(made), failure_sarif(text, 22, text)):
        assert_harmless(said)
    valid_sarif(findings_sarif(made, rules()))
    valid_sarif(failure_sarif(text, 22, text))
    for said in (findings_junit(made, rules()), failure_junit(text, text)):
        assert_harmless(said, document=True)
        valid_junit(said)
    assert [*text_string_to_metric_families(findings_metrics(made) + failure_metrics(text))]
    line = nagios_line(made)
    assert_harmless(line)
    assert "\n" not in line
    assert line.count("|") == 1


@hostile
def test_the_story_of_a_group(text: str) -> None:
    snapshot = Stage("coordinator-stuck", Path("unused")).cluster.snapshot()
    story = poisoned(explain_group(snapshot, diagnosis(), text), text)
    for said in (*printed(lambda c: print_group(story, c)), *printed_as_lines(lambda c: print_group(story, c))):
        assert_harmless(said)
    assert_harmless(group_json(story))
    assert json.loads(group_json(story))["group"] == story.group


@hostile
def test_a_snapshot(text: str) -> None:
    assert_harmless(described(poisoned(stage().cluster.snapshot(), text)))


def hostile_plan(text: str) -> Plan:
    """Every word of a plan but those that a reader of plans checks: actions, checks, keys of facts."""
    plan = ran()[0]
    steps = tuple(
        replace(
            s,
            id=f"{text}{s.id}",
            what=f"{text}{s.what}",
            why=f"{text}{s.why}",
            undo=f"{text}{s.undo}",
            command=f"{text}{s.command}",
            target=f"{text}{s.target}",
            phrase=f"{text}{s.phrase}",
            args=Args({**s.args, "partition": f"{text}x-0"}),
            verify=tuple(CheckCall(f"{text}{c.check}", Args({"partition": f"{text}x-0"})) for c in s.verify),
        )
        for s in plan.steps
    )
    calls = tuple(CheckCall(f"{text}c", Args({"partition": f"{text}x", "n": f"{text}y"})) for _ in range(2))
    return replace(
        plan,
        steps=steps,
        title=f"{text}{plan.title}",
        warnings=(text, text),
        standing=calls,
        goal=replace(plan.goal, checks=calls),
        finding=poisoned(plan.finding, text),
        cluster=replace(plan.cluster, id=f"{text}{plan.cluster.name}"),
        created=poisoned(plan.created, text),
        runbook=replace(plan.runbook, id=f"{text}{plan.runbook.id}"),
        skipped_at_plan=poisoned(plan.skipped_at_plan, text),
    )


@hostile
def test_a_plan(text: str) -> None:
    made = hostile_plan(text)
    differences = [(text, text, text)]
    for said in printed(
        lambda c: print_plan(made, explain(made), c),
        lambda c: print_differences(differences, c),
        lambda c: print_notes([text], c),
    ):
        assert_harmless(said)


@hostile
def test_the_screens_of_a_gate(text: str) -> None:
    made = hostile_plan(text)
    now = {f.key: replace(f, value=f"{text}x", source=text) for f in made.facts}
    for level in (Gate.PLAN, Gate.STEP, Gate.TYPED):
        shown = screen(made, 1, (made.steps[0], level), now, (f"{text}a", f"{text}b"))
        kept = (shown.text, shown.details, shown.why)
        for each in kept:
            assert_harmless(each)
        labels = [line[:10].rstrip() for line in shown.text.splitlines()[1:]]
        assert set(labels) <= {"", "finding", "goal", "risk", "steps", "warning", "at worst", "undo", "done",
                               "stopping", "what", "why", "now", "touches"}  # fmt: skip
        for said in printed(*(partial(_show, t) for t in kept), lambda c: _ask(c, text)):
            assert_harmless(said)


def _show(text: str, console: Console) -> None:
    Terminal(console).show(text)


def _ask(console: Console, text: str) -> None:
    import sys

    before, sys.stdin = sys.stdin, io.StringIO("n\n")
    try:
        Terminal(console).ask(f"type  {text}  to continue > ")
    finally:
        sys.stdin = before


@hostile
def test_a_run_as_it_is_printed_and_as_it_is_read_back(text: str) -> None:
    plan, records = ran()
    made = hostile_plan(text)
    keep = {"type", "part", "verdict", "why"}
    forged = [{k: v if k in keep else poisoned(v, text) for k, v in record.items()} for record in records]
    forged += [
        {"type": "note", "text": text, "mono": 1.0, "t": text},
        {"type": "note", "step": text, "text": text, "mono": 1.0, "t": text},
        {"type": "lock.lost", "scope": text, "mono": 1.0, "t": text},
        {"type": "run.end", "left": [text], "mono": 1.0, "t": text},
        {"type": text, "mono": 1.0, "t": text},
        {"type": "step.not_verified", "step": text, "verdict": text, "text": text, "mono": 1.0, "t": text},
        {"type": "facts.recheck", "key": text, "was": text, "is_": [text], "mono": 1.0, "t": text},
        {"type": "progress", "steps": [text], "bytes_done": 1, "bytes_total": 2, "bytes_per_second": 1,
         "seconds_left": 1, "mono": 1.0, "t": text},
    ]  # fmt: skip
    answer = Answer(Verdict.FAIL, text, text)
    call = CheckCall(f"{text}c", Args({"partition": text}))
    end = closing(made, (f"{text}: x",), 1.0, text, standing=((call, answer),), left=(text,))
    one = RunSummary(text, text, text, text, text, text, text, 3, (text,), 1.0, (text,))

    def tell(console: Console) -> None:
        for record in forged:
            RunReporter(plan, console)(record)

    for said in printed(lambda c: print_records(forged, c), lambda c: print_runs([one], c)):
        assert_harmless(said)
    for said in printed(tell):
        # The line of progress is written over itself.
        assert_harmless(said.replace("\r", "\n"))
    for said in printed(lambda c: c.print(end, soft_wrap=True)):
        assert not [hex(ord(c)) for c in said if is_dangerous(c)]
        assert [line for line in said.splitlines() if FORGED in line[:13]] == [said.splitlines()[0]]
    out = io.StringIO()
    ndjson = NdjsonReporter(out)
    for record in forged:
        ndjson(record)
    assert_harmless(out.getvalue())
    assert [json.loads(line) for line in out.getvalue().splitlines()] == json.loads(json.dumps(forged))


@hostile
def test_whatever_is_printed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(f"name: {text}")
    say(f"name: {text}", err=True)
    out, err = capsys.readouterr()
    assert out == err
    assert_harmless(out)
    assert out.count("\n") == 1
