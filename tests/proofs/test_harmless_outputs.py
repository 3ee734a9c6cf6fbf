"""Proof: whatever text a cluster, a plan, a journal or a store holds, no output holds a character that a terminal acts
on, that turns text around or hides in it, and no text begins a line of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from rich.console import Console

from kfix.app.inspect import Chosen, Depth, inspect_log_dirs
from kfix.harmless import is_dangerous
from kfix.model.args import Args
from kfix.model.finding import Diagnosis
from kfix.model.plan import CheckCall, Gate, Plan
from kfix.model.run import RunSummary
from kfix.model.verdict import Answer, Verdict
from kfix.report.collecting import collected_json, progress, show_collected
from kfix.report.console import HarmlessConsole, console_on
from kfix.report.findings_table import print_findings
from kfix.report.findings_verdict import nagios_line
from kfix.report.fleet.console import print_audit
from kfix.report.fleet.csv_audit import audit_csv
from kfix.report.fleet.html.page import render_html
from kfix.report.fleet.json_audit import audit_json
from kfix.report.fleet.markdown import audit_markdown
from kfix.report.fleet.prometheus import audit_metrics
from kfix.report.fleet.pruned import print_old
from kfix.report.fleet.rows import print_rows, rows_csv, rows_json
from kfix.report.group_story import group_json, print_group
from kfix.report.incident.json_incident import incident_json
from kfix.report.incident.markdown import incident_markdown, summary_text
from kfix.report.incident.page import render_incident
from kfix.report.inventory import show_runs
from kfix.report.json_findings import findings_json
from kfix.report.logdir import names_lines, print_inspection
from kfix.report.logdir_json import logdirs_json
from kfix.report.plan_notes import print_differences, print_notes
from kfix.report.runbook import print_plan
from kfix.report.runbook_history import print_records, print_runs
from kfix.report.runbook_run import NdjsonTeller, Teller, Terminal, closing
from kfix.report.snapshot import described
from kfix.report.terminal import say
from kfix.runbook.explain import explain
from kfix.runbook.prompt import screen
from kfix_diagnostics.group_story import explain_group
from tests.proofs.hostile import CASES
from tests.proofs.poison import FORGED, PIECES, assert_harmless, assert_page, hostile_texts, poisoned
from tests.unit.adapters.disk.building import Disk, batch, group_key, group_value, offset_key, offset_value, run
from tests.unit.report.fleet.reports import report
from tests.unit.report.incident.reports import founding_incident
from tests.unit.runbook.stage import Stage

LOOK = settings(
    max_examples=max(4, CASES // 40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
ALL_PIECES = "".join(PIECES)


def hostile(test: Callable[..., None]) -> Callable[..., None]:
    return LOOK(given(text=hostile_texts)(example(text=ALL_PIECES)(test)))


class Screen(io.StringIO):
    """A terminal 80 wide, so that colours and bars are drawn."""

    def isatty(self) -> bool:
        return True


def printed(*prints: Callable[[HarmlessConsole], object]) -> Iterator[str]:
    """In a pipe, and on a terminal without the escape sequences of rich's own colours."""
    pipe = io.StringIO()
    plain = Screen()
    for out, options in ((pipe, {}), (plain, {"color_system": None, "width": 80})):
        console = console_on(out) if not options else HarmlessConsole(file=out, markup=False, emoji=False, **options)
        for each in prints:
            each(console)
        yield out.getvalue()


@cache
def stage() -> Stage:
    from tempfile import mkdtemp

    return Stage("stuck-offsets-partition", Path(mkdtemp(prefix="kfix-harmless-")))


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
    assert_harmless(findings_json(made))
    assert json.loads(findings_json(made))["cluster"] == made.cluster
    line = nagios_line(made)
    assert_harmless(line)
    assert "\n" not in line
    assert line.count("|") == 1


@hostile
def test_the_story_of_a_group(text: str) -> None:
    snapshot = Stage("stuck-offsets-partition", Path("unused")).cluster.snapshot()
    story = poisoned(explain_group(snapshot, diagnosis(), text), text)
    for said in printed(lambda c: print_group(story, c)):
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
        assert set(labels) <= {"", "finding", "cause", "covers", "asks", "at worst", "undo", "done", "stopping",
                               "what", "why", "now", "touches"}  # fmt: skip
        for said in printed(*(lambda c, t=t: Terminal(c).show(t) for t in kept), lambda c: _ask(c, text)):
            assert_harmless(said)


def _ask(console: Console, text: str) -> None:
    import sys

    before, sys.stdin = sys.stdin, io.StringIO("n\n")
    try:
        Terminal(console).ask(f"type  {text}  to go on > ")
    finally:
        sys.stdin = before


@hostile
def test_a_run_as_it_is_told_and_as_it_is_read_back(text: str) -> None:
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
        {"type": "step.unproved", "step": text, "verdict": text, "text": text, "mono": 1.0, "t": text},
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
            Teller(plan, console)(record)

    for said in printed(lambda c: print_records(forged, c), lambda c: print_runs([one], c)):
        assert_harmless(said)
    for said in printed(tell):
        # The line of progress is written over itself.
        assert_harmless(said.replace("\r", "\n"))
    for said in printed(lambda c: c.print(end, soft_wrap=True)):
        assert not [hex(ord(c)) for c in said if is_dangerous(c)]
        assert [line for line in said.splitlines() if FORGED in line[:13]] == [said.splitlines()[0]]
    out = io.StringIO()
    ndjson = NdjsonTeller(out)
    for record in forged:
        ndjson(record)
    assert_harmless(out.getvalue())
    assert [json.loads(line) for line in out.getvalue().splitlines()] == json.loads(json.dumps(forged))


@hostile
def test_log_directories(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("disks")
    name = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    disks = [Disk(folder / f"b{n}", n) for n in (1, 2)]
    for disk, end in zip(disks, (30, 40), strict=True):
        disk.partition("orders-0", run(0, end, 0), epochs={0: 0}, hw=10)
        pairs = [(offset_key(name, "orders", 0), offset_value(1)), (group_key(name), group_value(1))]
        disk.partition("__consumer_offsets-3", batch(0, pairs=pairs), epochs={0: 0}, hw=2)
    found = inspect_log_dirs([d.path for d in disks], Chosen(all_groups=True), Depth())
    for each in (found, poisoned(found, text)):
        for said in printed(lambda c, each=each: print_inspection(each, c)):
            assert_harmless(said)
        assert_harmless("\n".join(f"group {line}" for line in names_lines(each.groups)))
        assert_harmless(logdirs_json(each))


@hostile
def test_a_post_mortem(text: str) -> None:
    made = founding_incident()
    lanes = made.picture.brokers, made.picture.controller
    made = poisoned(made, text)
    made = replace(made, picture=replace(made.picture, brokers=lanes[0], controller=lanes[1]))
    assert_page(render_incident(made))
    for document in (incident_markdown(made), summary_text(made)):
        assert_harmless(document, document=True)
    assert_harmless(incident_json(made))
    assert json.loads(incident_json(made))["title"] == made.title


def hostile_audit(text: str) -> Any:
    base = report(3, days=3)
    made = poisoned(base, text)
    rows = tuple(replace(f, head="", muted=False) for f in made.findings)
    return replace(made, findings=rows, manifest={"note": text, "ended": 1.0, "began": 0.0})


@hostile
def test_an_audit(text: str) -> None:
    made = hostile_audit(text)
    for said in printed(lambda c: print_audit(made, c), lambda c: print_audit(made, c, only_new=True)):
        assert_harmless(said)
    for document in (audit_markdown(made), audit_csv(made), audit_csv(made, clusters=True), audit_metrics(made)):
        assert_harmless(document, document=True)
    assert_harmless(audit_json(made))
    assert json.loads(audit_json(made))["clusters"][0]["cluster"] == made.clusters[0].cluster
    for clusters in (False, True):
        for row in csv.reader(io.StringIO(audit_csv(made, clusters=clusters), newline=""), strict=True):
            assert not [cell for cell in row if cell.lstrip().startswith(("=", "+", "-", "@"))]
            assert not [cell for cell in row if "\n" in cell or "\r" in cell]


@settings(LOOK, max_examples=6)
@given(text=hostile_texts)
@example(text=ALL_PIECES)
def test_the_page_of_an_audit_and_what_its_script_unpacks(text: str) -> None:
    import base64
    import gzip
    import re

    page = render_html(hostile_audit(text))
    assert_page(page)
    packed = re.findall(r'<script[^>]*type="[^"]*"[^>]*id="(?:index|figures)"[^>]*>([^<]*)</script>', page)
    packed += re.findall(r'id="(?:index|figures)"[^>]*>([^<]*)</script>', page)
    assert packed
    for each in packed:
        for said in _texts(json.loads(gzip.decompress(base64.b64decode(each)))):
            assert not any(map(is_dangerous, said))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)
    yield from value if isinstance(value, dict) else ()


@hostile
def test_runs_of_a_fleet_and_rows_of_a_query(text: str) -> None:
    runs = [
        SimpleNamespace(day=date(2026, 3, 1), id=text, state=text, clusters=1, failed=0, rows=3, began=1.0, ended=2.0,
                        why=text)
    ]  # fmt: skip
    entries = {text: {"silent": [text]}}
    collected = SimpleNamespace(id=text, day=date(2026, 3, 1), place=text, clusters={text: 1}, failed={text: text},
                                manifest={"entries": entries})  # fmt: skip
    old = [SimpleNamespace(day=date(2026, 3, 1), run=text, kind=text, complete=False, size=3)]
    rows = [(text, [text], -1, -1.5, None)]
    names = (text, "b", "c", "d", "e")

    def hear(console: Console) -> None:
        with progress(2, console, quiet=False) as told:
            told(text, text)

    for said in printed(
        lambda c: show_runs(runs, c),
        lambda c: show_collected(collected, 0, 1.0, c),
        lambda c: print_old(old, text, c, deleted=False),
        lambda c: print_old([], text, c, deleted=False),
        lambda c: print_rows(names, rows, c, 5),
    ):
        assert_harmless(said)
    pipe = io.StringIO()
    hear(console_on(pipe))
    assert_harmless(pipe.getvalue())
    assert_harmless(rows_csv(names, rows), document=True)
    [_, row] = csv.reader(io.StringIO(rows_csv(names, rows), newline=""), strict=True)
    assert row[2:4] == ["-1", "-1.5"]
    assert not row[0].lstrip().startswith(("=", "+", "-", "@"))
    assert_harmless(rows_json(names, rows))
    assert json.loads(rows_json(names, rows))[0]["b"] == [text]
    assert collected_json(collected, 0, 1.0)["run"] == text


@hostile
def test_whatever_is_said(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(f"name: {text}")
    say(f"name: {text}", err=True)
    out, err = capsys.readouterr()
    assert out == err
    assert_harmless(out)
    assert out.count("\n") == 1
