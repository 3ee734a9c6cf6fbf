"""A person at a terminal reads a plan once, as the page that they approve; a log gets all of it."""

from pathlib import Path

import pytest

from kfix.heal.cli.screen import Out
from kfix.heal.gate.gates import Unattended
from tests.unit.heal.stage import Answers, Stage


def test_a_person_reads_the_plan_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Stage("coordinator-stuck", tmp_path).plan()
    out, person = Out.of(False), Answers([])
    out.show_before_gates(plan, person, apart=False)
    # The first gate shows it.
    assert (person.shown, capsys.readouterr().out) == ([], "")
    out.show_before_gates(plan, person, apart=True)
    [page] = person.shown
    assert page.startswith(f"PLAN {plan.short_id}   coordinator-stuck on ")
    assert "1 nudge (asks again): " in page
    out.show_before_gates(plan, Unattended(), apart=False)
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("based on", "proof", "expires"))
