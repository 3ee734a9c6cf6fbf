"""What hangs a group is found by a plain diagnosis, which names no group, with ZooKeeper and on KRaft."""

import pytest

from tests.cluster.conftest import Kfix
from tests.cluster.seen import wait_until
from tests.matrix.cases import PLAIN
from tests.matrix.cell import spec_of

FOUND = {"rebalance-held": "KFX111", "open-transaction": "KFX116", "offset-outside-log": "KFX113"}


@pytest.mark.parametrize(
    "line", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in ("2.7.1-zk", "4.3.1-kraft")]
)
@pytest.mark.parametrize("incident", FOUND)
def test_a_plain_diagnosis_finds_a_group_that_hangs(labs, line, incident, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    kfix = Kfix(lab, tmp_path / "state")
    broken = lab.break_(incident)
    # An ordinary transaction is younger than 5 s: only an older one is looked at twice.
    said = wait_until(lambda: (found := kfix.diagnose("--transaction-grace", "1")).code == 21 and found, "critical", 30)
    found = said.findings[FOUND[incident]]
    assert found["severity"] == "critical"
    assert broken.group in found["blocked"]["groups"]
