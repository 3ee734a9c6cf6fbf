"""Cut networks on real brokers in network namespaces: told apart, rightly advised, healed, and the loss forecast."""

import contextlib
import json

import pytest

from kfix.core.errors import LabError
from kfix.lab.workload.recount import recount
from tests.cluster.cutting import CUTS, cut_off, log_end, refused, told, wait_healed
from tests.waiting import wait_until

#: Records that a writer sends while a busy machine makes a cut.
MEANWHILE = 30

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-zones")]


@pytest.fixture
def lab(zoned):
    return zoned


@pytest.fixture
def kfix(kfix_of_zones):
    return kfix_of_zones


def wait_done(lab, number):
    def counted():
        with contextlib.suppress(LabError):
            return recount(lab, number)

    return wait_until(counted, "the writer has ended", 60, pause=0.2)


@pytest.mark.parametrize(
    ("incident", "code", "options"),
    [
        ("zone-isolated-with-leader", "KFX803", {}),
        ("zone-isolated-with-leader", "KFX803", {"acks": "all"}),
        ("controller-zone-isolated-with-leader", "KFX804", {}),
        ("leader-cut-from-followers", "KFX803", {"outcome": "leader-moved"}),
    ],
)
def test_two_leaders_and_the_loss_that_was_forecast(lab, kfix, tmp_path, incident, code, options):
    broken = lab.break_(incident, **options)
    inside = broken.details["isolated"]
    wait_done(lab, broken.details["writer_inside"])
    said, found = told(kfix, code)
    assert said.code == 21
    assert found["facts"]["brokers"] == [inside]
    assert found["facts"]["zone"] == broken.details["zone"]
    assert "ledger-0" in found["partitions"]
    assert found["facts"]["forecast_exact"]
    forecast = dict(each.rsplit("=", 1) for each in found["facts"]["forecast"])
    refused(kfix, tmp_path, code)
    end = log_end(lab, inside)
    lab.heal()
    wait_healed(kfix)
    foretold = int(forecast["ledger-0"])
    assert foretold == cut_off(lab, inside, "ledger-0", end) > 0
    # From outside some may have been acknowledged by the old leader while the cut was made (acks=1).
    truth, beyond = (recount(lab, broken.details[writer]) for writer in ("writer_inside", "writer_outside"))
    assert beyond.lost <= MEANWHILE
    if options.get("acks") == "all":
        assert truth.lost == 0, "what acks=all acknowledged survives, though each try was appended and is cut off"
    else:
        # What was appended and not acknowledged any more is cut off too, and is no loss of a producer's.
        assert 0 < truth.lost + beyond.lost <= foretold <= truth.lost + beyond.lost + MEANWHILE


@pytest.mark.parametrize(
    ("incident", "code", "options"),
    [
        ("link-to-leader-cut", "KFX801", {}),
        ("link-to-controller-cut", "KFX802", {"only": "kafka"}),
        ("link-to-controller-cut", "KFX802", {"only": "controller"}),
        ("leader-cut-from-followers", "KFX807", {}),
    ],
)
def test_a_cut_is_one_finding_that_refuses_every_plan(lab, kfix, tmp_path, incident, code, options):
    lab.break_(incident, **options)
    told(kfix, code)
    refused(kfix, tmp_path, code)
    lab.heal()
    wait_healed(kfix)


def test_a_plan_made_before_the_cut_is_refused_under_it(lab, kfix, tmp_path):
    lab.break_("healthy")
    plan = tmp_path / "plan.json"
    assert kfix.on("runbook", "plan", "controller-reelect", "--output-file", plan).code == 0
    approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
    lab.mend()
    lab.break_("zone-isolated")
    epoch = controller_epoch(lab)
    said = kfix.on("runbook", "apply", "--plan", plan, "--approve", approval)
    assert said.code == 3, said.out + said.err
    assert "KFX803" in said.err
    assert controller_epoch(lab) == epoch
    lab.heal()
    wait_healed(kfix)


def controller_epoch(lab):
    with lab.access() as access:
        return access._zk.get("/controller_epoch")[0]


def test_a_slow_link_a_rolling_restart_and_a_new_controller_are_no_cut(lab, kfix):
    lab.break_("healthy")
    lab.slow("az2", 2_000)
    assert not set(kfix.diagnose().findings) & CUTS
    lab.heal()
    for broker in lab.broker_ids:
        lab.restart(broker)
        assert not {code for code, f in kfix.diagnose().findings.items() if not f.get("unsettled")} & CUTS
    with lab.access() as access:
        access.drop_controller()
    assert not {code for code, f in kfix.diagnose().findings.items() if not f.get("unsettled")} & CUTS
