"""A core of the matrix on Kafka 3.9.2, with ZooKeeper and on KRaft; other tests do this on 2.7.1 and 4.3.1.

`make test-matrix` runs every incident on every line (docs/matrix.md).
"""

import pytest

from tests.matrix.cell import Labs, run_cell


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("matrix")))
        labs = Labs()
        yield labs
        labs.down()


@pytest.mark.parametrize(
    ("line", "incident"),
    [
        ("3.9.2-zk", "coordinator-stuck"),
        ("3.9.2-zk", "stuck-reassignment"),
        ("3.9.2-kraft", "isr-gone"),
        ("3.9.2-kraft", "stuck-reassignment"),
        ("3.9.2-kraft", "leader-skew"),
    ],
)
def test_the_incident_is_made_diagnosed_remedied_and_proved(labs, line, incident):
    cell = run_cell(labs, line, incident)
    assert cell.failure == ""
    assert cell.proof
