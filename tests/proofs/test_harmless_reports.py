"""Proof: hostile text in log directories, post-mortems, audits, fleets and queries, on each of their outputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from rich.console import Console

from kfix.core.harmless import is_dangerous
from kfix.fleet.report.collecting import collected_json, progress, show_collected
from kfix.fleet.report.console import print_audit
from kfix.fleet.report.csv_audit import audit_csv
from kfix.fleet.report.html.page import render_html
from kfix.fleet.report.inventory import show_runs
from kfix.fleet.report.json_audit import audit_json
from kfix.fleet.report.markdown import audit_markdown
from kfix.fleet.report.prometheus import audit_metrics
from kfix.fleet.report.pruned import print_old
from kfix.fleet.report.rows import print_rows, rows_csv, rows_json
from kfix.front.console import console_on
from kfix.incident.report.facts import incident_json
from kfix.incident.report.markdown import incident_markdown, summary_text
from kfix.incident.report.page import render_incident
from kfix.inspect.inspect import Chosen, Depth, inspect_log_dirs
from kfix.inspect.json_logdir import logdirs_json
from kfix.inspect.logdir import names_lines, print_inspection
from tests.proofs.poison import (
    ALL_PIECES,
    LOOK,
    assert_harmless,
    assert_page,
    hostile,
    hostile_texts,
    poisoned,
    printed,
)
from tests.unit.core.disk.building import Disk, batch, group_key, group_value, offset_key, offset_value, run
from tests.unit.fleet.report.reports import report
from tests.unit.incident.report.reports import founding_incident


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
        for said in printed(partial(print_inspection, each)):
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
    collected = SimpleNamespace(id=text, day=date(2026, 3, 1), root=text, clusters={text: 1}, failed={text: text},
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
