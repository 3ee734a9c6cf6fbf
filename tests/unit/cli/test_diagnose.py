"""The first verdict, which a terminal shows before the second snapshot."""

from __future__ import annotations

import pytest

from kfix.app.access import Access
from kfix.app.diagnosis import choice_of
from kfix.cli.diagnose import _first_verdict
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import coordinator_stuck


@pytest.mark.parametrize(("only", "why"), [([], "has had no leader"), (["KFX401"], "broker 1 is not registered")])
def test_the_first_verdict_is_of_the_findings_that_were_asked_for(
    capsys: pytest.CaptureFixture[str], only: list[str], why: str
) -> None:
    _first_verdict(
        choice_of(only, [], "info", prevention=False), Access("localhost:1"), diagnose(coordinator_stuck().snapshot())
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert next(line for line in said.err.splitlines() if line.startswith("why: ")).count(why) == 1
