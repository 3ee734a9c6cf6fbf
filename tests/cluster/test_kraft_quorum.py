"""A quorum of three controllers, one of which fails: found while everything still works, and gone when it is back."""

import time

import pytest

from kfix.lab import LabSpec
from tests.cluster.conftest import Kfix, WatchedLab, again
from tests.cluster.seen import wait_until


@pytest.fixture(scope="module", params=["3.9.2", "4.3.1"])
def quorum_lab(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("kraft-quorum")))
        lab = WatchedLab.up(LabSpec(name="quorum", kafka=request.param, mode="kraft", controllers=3))
        yield lab
        lab.down()


@pytest.fixture
def lab(quorum_lab, request):
    if again(request):
        quorum_lab.mend()
    yield quorum_lab
    if quorum_lab.status().incident is not None:
        quorum_lab.mend()


@pytest.fixture
def kfix(lab, tmp_path):
    return Kfix(lab, tmp_path)


def test_a_dead_controller_is_found_and_named_while_everything_works(kfix, lab):
    wait_until(lambda: kfix.diagnose("--debounce", "0").code == 0, "the cluster is healthy", 30)
    broken = lab.break_("quorum-at-risk")
    dead = broken.details["killed"]
    time.sleep(2)
    said = kfix.diagnose("--debounce", "1")
    assert said.code == 20, said.out
    [finding] = said.json["findings"]
    assert (finding["code"], finding["object"]) == ("KFX812", f"controller {dead}")
    assert "2 of 3 voters left, the loss of one more stops every change" in finding["summary"]
    assert finding["cause"]["text"] == "it is dead: nothing listens at its address"
    assert finding["remedies"][0]["text"].startswith(f"Start controller {dead} with its old disk")
    lab.restart_controller(dead)
    wait_until(lambda: kfix.diagnose("--debounce", "0").code == 0, "the controller follows again", 30)


def test_a_controller_that_is_elected_again_and_again_is_named(kfix, lab):
    wait_until(lambda: kfix.diagnose("--debounce", "0").code == 0, "the cluster is healthy", 30)
    first = lab.quorum.active()
    while (active := lab.quorum.active()).epoch < first.epoch + 7:
        lab.stop_controller(active.leader)
        wait_until(
            lambda old=active: (now := lab.quorum.active()) is not None and now.epoch > old.epoch, "a successor", 20
        )
        lab.cont_controller(active.leader)
    wait_until(lambda: "KFX812" not in kfix.diagnose("--debounce", "0").findings, "all controllers follow", 30)
    said = kfix.diagnose("--debounce", "1")
    assert said.code == 20, said.out
    found = said.findings["KFX815"]
    assert found["severity"] == "warning"
    assert "elections within" in found["summary"]
    assert "no node was seen away" in found["cause"]["text"]
