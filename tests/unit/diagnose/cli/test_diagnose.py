"""The first verdict, which a terminal shows before the second snapshot, and what a choice of findings leaves out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.access import Access
from kfix.core.diagnosis.finding import Severity
from kfix.diagnose.cli import diagnose as module
from kfix.diagnose.cli.diagnose import _FirstVerdict
from kfix.diagnose.diagnosis import choice_of, chosen, group_story
from kfix.diagnose.report.formats import Format
from kfix.diagnose.report.metrics import findings_metrics
from kfix.diagnose.report.table import headline
from kfix.diagnose.report.verdict import nagios_line
from kfix.front.failing import OutputDocument
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import base, coordinator_stuck, metadata_divergence


@pytest.mark.parametrize(("only", "why"), [([], "has had no leader"), (["KFX401"], "broker 1 is not registered")])
def test_the_first_verdict_is_of_the_findings_that_were_asked_for(
    capsys: pytest.CaptureFixture[str], only: list[str], why: str
) -> None:
    first, choice = _FirstVerdict(), choice_of(only, [], "info", prevention=False)
    first.show(choice, Access("localhost:1"), diagnose(coordinator_stuck().snapshot()))
    first.erase()
    said = capsys.readouterr()
    assert said.out == ""
    assert next(line for line in said.err.splitlines() if line.startswith("what: ")).count(why) == 1
    assert "\x1b" not in said.err


@pytest.mark.parametrize(
    ("only", "topics", "least"), [(["KFX617"], [], "info"), ([], ["other"], "info"), ([], [], "critical")]
)
def test_a_choice_that_leaves_out_a_warning_makes_no_cluster_healthy(
    only: list[str], topics: list[str], least: str
) -> None:
    whole = diagnose(metadata_divergence().snapshot())
    assert [f.severity for f in whole.walk()] == [Severity.WARNING]
    shown = chosen(whole, choice_of(only, topics, least, prevention=False))
    assert shown.findings == ()
    assert "healthy" not in headline(shown).text
    assert "no alarm, but 1 finding is not shown" in headline(shown).text
    assert "no alarm, but 1 finding is not shown" in nagios_line(shown)
    assert f'kfix_diagnosis_hidden_findings{{cluster="{shown.cluster}"}} 1\n' in findings_metrics(shown)
    assert chosen(whole, choice_of(["KFX201"], [], "info", prevention=False)).headlines == ()
    assert "critical=0 warning=U info=0" in nagios_line(shown)
    well = chosen(diagnose(base().snapshot()), choice_of(only, topics, least, prevention=False))
    assert "healthy" in headline(well).text


@pytest.mark.parametrize(("blocked", "code"), [(True, 21), (False, 0), (None, 22)])
def test_the_exit_code_of_a_group_shows_whether_it_is_blocked_or_unknown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], blocked: bool | None, code: int
) -> None:
    snapshot = coordinator_stuck().snapshot()
    story = replace(group_story(snapshot, diagnose(snapshot), "pay"), blocked=blocked)
    monkeypatch.setattr(module, "group_story", lambda *_: story)
    placed = OutputDocument()
    assert module._report_group(diagnose(snapshot), snapshot, "pay", Format.TEXT, placed) == code
    assert capsys.readouterr().out
