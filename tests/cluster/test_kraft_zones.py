"""A KRaft cluster in three zones: who is cut from whom, what it costs, and who is only fenced.

Without root, `ip` or a packet filter these tests fail, and say so. `KFIX_ZONES_KAFKA=3.9.2` runs them on that line.
"""

import os

import pytest

from kfix.lab import LabSpec
from tests.cluster.conftest import WatchedLab
from tests.cluster.cutting import cut_off, log_end, nothing_left, refused, told, wait_healed
from tests.cluster.skewed import no_fault_until_killed, restarted
from tests.tries import again
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-kraft-zones")]

KAFKA = os.environ.get("KFIX_ZONES_KAFKA", "4.3.1")
#: Runbooks that act on KRaft.
WISHES = (("leader-balance",), ("raise-topic-rf", "-p", "topic=ledger", "-p", "rf=3"), ("sweep-throttles",))


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("kraft-zones")))
        lab = WatchedLab.up(LabSpec(name="kraft-cut", kafka=KAFKA, mode="kraft", zones=3, controllers=3, combined=True))
        network = lab.state.network
        yield lab
        lab.down()
        nothing_left(network)


@pytest.fixture
def lab(zones, request):
    if again(request):
        zones.mend()
    yield zones
    if zones.status().incident is not None:
        zones.mend()


def of_one_mind(said, code):
    """No other finding of the diagnosis advises a change while this one lasts, or takes the broker for dead."""
    assert not set(said.findings) & {"KFX401", "KFX402", "KFX403"}
    for finding in said.every:
        # What has just begun has the advice to wait.
        for remedy in () if finding["unsettled"] else finding["remedies"]:
            changing = any(word in remedy["text"].lower() for word in ("restart", "elect", "reassign", "start broker"))
            assert not changing or remedy["after"].startswith(code), remedy["text"]


@pytest.mark.parametrize("acks", ["1", "all"])
def test_a_broker_cut_from_the_controllers_alone_goes_on_leading_and_its_loss_is_forecast(lab, kfix, tmp_path, acks):
    broken = lab.break_("broker-cut-from-controllers", acks=acks)
    zombie = broken.details["cut_off"]
    assert broken.details["acknowledged"] == (broken.details["appended"] if acks == "1" else 0)
    said, found = told(kfix, "KFX813")
    assert said.code == 21
    facts = found["facts"]
    assert facts["brokers"] == [zombie]
    assert facts["two_leaders"] == facts["proved"] >= 1
    assert facts["forecast_exact"]
    assert f"ledger-0={broken.details['appended']}" in facts["forecast"]
    shown = [f"{row['source']}: {row['what']}: {row['value']}" for row in found["evidence"]]
    assert any(
        row.startswith(f"broker {zombie}: OffsetForLeaderEpoch of ledger-0") and row.endswith("UNKNOWN_LEADER_EPOCH")
        for row in shown
    )
    assert any("not visible to kfix" in row for row in shown)
    assert any("registered and fenced" in row for row in shown) == (KAFKA == "4.3.1")
    of_one_mind(said, "KFX813")
    if acks == "1":
        refused(kfix, tmp_path, "KFX813", WISHES)
    end = log_end(lab, zombie)
    lab.heal()
    wait_healed(kfix)
    assert cut_off(lab, zombie, "ledger-0", end) == broken.details["appended"]


@pytest.mark.parametrize(
    ("incident", "code"), [("link-to-leader-cut", "KFX801"), ("leader-cut-from-followers", "KFX807")]
)
def test_brokers_that_the_controllers_hear_and_that_do_not_reach_each_other(lab, kfix, tmp_path, incident, code):
    broken = lab.break_(incident)
    said, found = told(kfix, code)
    assert said.code == 20
    named = {broken.details[each] for each in ("leader", "follower") if each in broken.details}
    assert set(found["facts"]["brokers"]) == named
    assert "KFX813" not in said.findings
    refused(kfix, tmp_path, code, WISHES[2:])
    lab.heal()
    wait_healed(kfix)


def made_active(lab, node):
    """The others give the leadership of the quorum up until that node has it."""
    for _ in range(12):
        wait_until(lambda: lab.quorum.active() is not None, "an active controller", 30)
        if (active := lab.quorum.active().leader) == node:
            return
        lab.restart(active)
    raise AssertionError(f"controller {node} was never elected")


@pytest.mark.parametrize(("seconds", "active"), [(3600, True), (-3600, False)])
def test_a_host_of_its_own_whose_clock_is_an_hour_off_is_no_fault_and_dates_nothing_wrong(
    lab, kfix, tmp_path, monkeypatch, seconds, active
):
    """Broker and controller 2 are in a namespace of their own; as the active controller, its clock dates the others."""
    lab.break_("healthy")
    with restarted(lab, 2, seconds, tmp_path, monkeypatch):
        if active:
            made_active(lab, 2)
        wait_healed(kfix)
        no_fault_until_killed(kfix, 3 if active else 2)
