"""Ctrl-C between the two snapshots of a diagnosis: the first one is shown, and marked in the output itself."""

import pytest

from kfix.core.access import Access
from kfix.diagnose.cli.diagnose import _not_confirmed
from kfix.diagnose.diagnosis import EVERYTHING
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import coordinator_stuck


@pytest.mark.parametrize("verbose", [False, True])
def test_a_report_that_goes_to_a_file_begins_with_the_mark(verbose: bool, capsys: pytest.CaptureFixture[str]) -> None:
    _not_confirmed(EVERYTHING, Access("localhost:1"), verbose=verbose, machine=False)(
        diagnose(coordinator_stuck().snapshot())
    )
    first, *lines = capsys.readouterr().out.splitlines()
    assert "not confirmed" in first
    assert any("KFX101" in line for line in lines)


def test_a_program_gets_no_verdict_that_is_not_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    _not_confirmed(EVERYTHING, Access("localhost:1"), verbose=False, machine=True)(
        diagnose(coordinator_stuck().snapshot())
    )
    assert capsys.readouterr().out == ""
