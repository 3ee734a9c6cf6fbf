"""Every cell of the matrix: every incident on every line of Kafka; and on Kafka 4 without eligible leader replicas.

`make test-matrix` writes their results down (docs/matrix.md).
"""

import pytest

from tests.matrix.cases import CASES
from tests.matrix.cell import run_cell
from tests.matrix.results import LINES, possible

CELLS = [(line, each) for line in LINES for each in sorted(possible(line), key=lambda each: (CASES[each].layout, each))]


@pytest.mark.parametrize(("line", "incident"), CELLS)
def test_the_incident_is_made_diagnosed_remedied_and_proved(labs, line, incident):
    cell = run_cell(labs, line, incident)
    assert cell.failure == ""
    assert cell.code in CASES[incident].codes or not CASES[incident].codes
    assert cell.proof


@pytest.mark.parametrize("line", ["4.3.1-kraft", "4.4.0-kraft"])
def test_without_eligible_leader_replicas_it_is_as_before_kafka_4(labs, line):
    cell = run_cell(labs, line, "isr-gone", elr=False)
    assert (cell.failure, cell.code) == ("", "KFX103")
    assert cell.proof
