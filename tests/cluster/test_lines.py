"""What every line of Kafka must show in every run of the tests: one lab a line, whole, broken, restarted and killed.

The other incidents, and other ways into these, run in slices (test_matrix.py and the other files of this folder).
"""

import pytest

from tests.cluster.conftest import Kfix
from tests.cluster.killing import chain
from tests.cluster.remedy import operating
from tests.cluster.seen import Cluster
from tests.cluster.steady import diagnosed, settled
from tests.matrix.cases import PLAIN
from tests.matrix.cell import run_cell, spec_of

#: {line: (an incident, the finding that names it)}.
CORE = {
    "2.7.1-zk": ("coordinator-stuck", "KFX101"),
    "3.9.2-zk": ("coordinator-stuck", "KFX101"),
    "3.9.2-kraft": ("isr-gone", "KFX103"),
    "4.3.1-kraft": ("isr-gone", "KFX119"),
    "4.4.0-kraft": ("isr-gone", "KFX119"),
}
#: {mode: (incident, runbook)}: a run of one change that dies between the change and its record.
KILLED = {"zk": ("coordinator-stuck", "coordinator-stuck"), "kraft": ("left-over-throttles", "sweep-throttles")}


@pytest.fixture(scope="module", params=[pytest.param(line, marks=pytest.mark.xdist_group(line)) for line in CORE])
def line(request):
    return request.param


@pytest.fixture
def lab(labs, line):
    return labs.whole(spec_of(line, PLAIN))


@pytest.fixture
def kfix(lab, tmp_path):
    return Kfix(lab, tmp_path / "state")


def test_a_healthy_cluster_is_called_healthy(lab, kfix):
    lab.break_("healthy")
    settled(kfix)
    said = kfix.diagnose()
    assert (said.code, said.json["findings"], said.json["could_not_read"]) == (0, [], []), said.out


def test_an_incident_is_diagnosed_remedied_and_proved(labs, line):
    incident, code = CORE[line]
    cell = run_cell(labs, line, incident)
    assert (cell.failure, cell.code) == ("", code)
    assert cell.proof


def test_a_rolling_restart_is_no_alarm(lab, kfix):
    settled(kfix)
    with diagnosed(kfix) as found:
        for node in lab.broker_ids:
            lab.restart(node)
            settled(kfix)
            found.wait_for_the_next()
    assert found == []


def test_a_run_that_dies_after_its_change_is_resumed_and_does_not_change_again(lab, line, tmp_path):
    incident, runbook = KILLED[line.rpartition("-")[2]]
    with lab.access() as access, operating(lab, tmp_path) as operator:
        cluster = Cluster(lab, access)
        broken = lab.break_(incident)
        chain(operator, cluster, operator.plan(runbook), ("-step.result",))
        assert broken.group is None or cluster.works(broken.group)
