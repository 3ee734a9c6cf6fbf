"""A core of the matrix on every line of Kafka; and on Kafka 4 without eligible leader replicas.

`make test-core` runs this alone, `make test-matrix` every incident on every line (docs/matrix.md).
"""

import pytest

from tests.matrix.cell import run_cell


@pytest.mark.parametrize(
    ("line", "incident", "code"),
    [
        ("2.7.1-zk", "coordinator-stuck", "KFX101"),
        ("2.7.1-zk", "under-min-isr", "KFX301"),
        ("3.9.2-zk", "coordinator-stuck", "KFX101"),
        ("3.9.2-zk", "stuck-reassignment", "KFX501"),
        ("3.9.2-kraft", "isr-gone", "KFX103"),
        ("3.9.2-kraft", "stuck-reassignment", "KFX501"),
        ("3.9.2-kraft", "leader-skew", "KFX608"),
        ("4.3.1-kraft", "isr-gone", "KFX119"),
        ("4.4.0-kraft", "isr-gone", "KFX119"),
        ("4.4.0-kraft", "under-min-isr", "KFX301"),
    ],
)
def test_the_incident_is_made_diagnosed_remedied_and_proved(labs, line, incident, code):
    proved(run_cell(labs, line, incident), code)


@pytest.mark.parametrize("line", ["4.3.1-kraft", "4.4.0-kraft"])
def test_without_eligible_leader_replicas_it_is_as_before_kafka_4(labs, line):
    proved(run_cell(labs, line, "isr-gone", elr=False), "KFX103")


def proved(cell, code):
    assert cell.failure == ""
    assert cell.code == code
    assert cell.proof
