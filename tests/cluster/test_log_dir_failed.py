"""A log directory of a real broker fails: it is named, no election is proposed, and the repaired disk heals it."""

import pytest

from tests.matrix.cell import run_cell


@pytest.mark.parametrize("line", ["2.7.1-zk", "4.3.1-kraft"])
def test_a_failed_log_directory_is_found_and_its_repair_heals_the_partition(labs, line):
    cell = run_cell(labs, line, "log-dir-failed")
    assert cell.failure == ""
    assert (cell.code, cell.confidence) == ("KFX406", "certain")
    # Nobody promises an election, and no link is blamed.
    assert {*cell.codes} <= {"KFX406", "KFX302"}
    assert cell.proof
