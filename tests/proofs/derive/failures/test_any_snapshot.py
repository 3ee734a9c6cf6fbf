"""Whatever a snapshot holds, every failure has a forecast that can be printed."""

from dataclasses import replace

from hypothesis import given, settings

from kfix.core.derive.casefile import open_case
from kfix.core.failures.judging import forecast
from kfix.core.failures.scenarios import every_failure
from kfix.whatif.json_forecast import forecast_json
from kfix.whatif.table import exit_code, forecast_text
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.papers import papers


@settings(max_examples=120)
@given(papers())
def test_whatever_a_snapshot_holds_every_failure_has_a_forecast(paper: Paper) -> None:
    case = open_case(paper.snapshot())
    if not case.live:
        return
    every = forecast(case, every_failure(case), named=True)
    assert forecast_text(every, chosen=False, width=60)
    assert forecast_json(every)
    assert exit_code(every) in {0, 20, 21, 22}
    for one in every.failures:
        assert forecast_text(replace(every, failures=(one,)), chosen=True, width=60)
