"""A quorum of three controllers, one of which fails: found while everything still works, and gone when it is back."""

import subprocess
from dataclasses import replace
from pathlib import Path

from kfix.core.disk.checkpoints import META, read_meta
from kfix.lab import LabSpec
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.steady import diagnosed, settled
from tests.waiting import wait_until


def start(version):
    """The quorum of one version is static, that of the other may change its voters."""
    spec = LabSpec(name="quorum", kafka=version, mode="kraft", controllers=3)
    return WatchedLab.up(replace(spec, dynamic_quorum=version != "3.9.2"))


own, lab = lab_of_its_own(start, mends=True, params=["3.9.2", "4.3.1"])


def healthy(kfix, what="the cluster is healthy"):
    kfix.until(lambda said: said.code == 0, what, "--debounce", "0")


def test_active_controllers_that_restart_are_no_alarm(kfix, lab):
    """The active one each time, so that another one is elected."""

    def active():
        return wait_until(lab.quorum.active, "an active controller", 30)

    settled(kfix)
    epochs = [active().epoch]
    with diagnosed(kfix) as found:
        for _ in lab.quorum.addresses():
            lab.restart(active().leader, role="controller")
            settled(kfix)
            epochs.append(active().epoch)
    assert found == []
    assert epochs == sorted({*epochs}), "another controller was elected at each restart"


def test_a_controller_that_is_elected_again_and_again_is_named(kfix, lab):
    healthy(kfix)
    first = lab.quorum.active()
    while (active := lab.quorum.active()).epoch < first.epoch + 7:
        lab.stop(active.leader, "controller")
        wait_until(
            lambda old=active: (now := lab.quorum.active()) is not None and now.epoch > old.epoch, "a successor", 20
        )
        lab.cont(active.leader, "controller")
    kfix.until(lambda said: "KFX812" not in said.findings, "all controllers follow", "--debounce", "0")
    said = kfix.diagnose("--debounce", "1")
    assert said.code == 20, said.out
    found = said.findings["KFX815"]
    assert found["severity"] == "warning"
    assert "elections within" in found["summary"]
    assert "no node was seen to be down" in found["cause"]["text"]


class Disk:
    """The metadata disk of a controller that follows, and the controller itself, started by hand."""

    def __init__(self, lab):
        self.lab = lab
        state = lab.state
        self.number = next(each for each in lab.quorum.addresses() if each != lab.quorum.active().leader)
        self.controller = state.controller(self.number)
        self.path = Path(state.data, f"controller-{self.number}")
        self.properties = self.path.with_suffix(".properties")

    @property
    def directory(self):
        return read_meta(self.path / META)[0].directory

    def replace(self):
        """A new disk, which was formatted as a controller of this cluster that is to join it."""
        lab, state = self.lab, self.lab.state
        lab.kill(self.number, "controller")
        lab.nodes.wipe_disk(state, self.number, "controller")
        self.path.mkdir()
        joins = ["--no-initial-controllers"] if state.spec.dynamic_quorum else []
        format_ = ["format", "-t", state.cluster_id, *joins, "-c", str(self.properties)]
        subprocess.run([*lab.nodes._java(state, "format", self.number), *format_], check=True, capture_output=True)
        lab.nodes.start(state, "controller", self.controller)

    def start_with(self, line):
        """Starts it again with one more line in its properties."""
        lab, state = self.lab, self.lab.state
        lab.nodes.shutdown(state, [self.number], "controller")
        self.properties.write_text(f"{self.properties.read_text()}{line}\n")
        lab.nodes.spawn(
            "controller", self.number, [*lab.nodes._java(state, "controller", self.number), str(self.properties)]
        )


def test_a_controller_on_a_new_disk_is_another_voter_only_where_voters_may_change(kfix, lab, operator):
    healthy(kfix)
    disk = Disk(lab)
    name, old = f"controller {disk.number}", disk.directory
    disk.replace()
    if not lab.state.spec.dynamic_quorum:
        # The voter is whoever has the id. It catches up by itself.
        healthy(kfix, "the controller follows")
        return

    def found(words, what):
        """The finding of the controller, once its summary has these words."""

        def named(said):
            return words in said.findings.get("KFX812", {"summary": ""})["summary"]

        return kfix.until(named, what, "--debounce", "0").findings["KFX812"]

    finding = found("runs with another disk", "the new disk is named")
    assert finding["object"] == name
    assert f"the voter has directory id {old}" in finding["summary"]
    assert f"the controller has {disk.directory}" in finding["summary"]
    assert f"quorum-replace-voter -p node={disk.number} " in finding["remedies"][0]["command"]
    operator.healed(operator.plan("quorum-replace-voter", params={"node": disk.number}))
    assert lab.quorum.active() is not None, "no step costs the majority"
    healthy(kfix, "it is a voter again")
    disk.start_with("advertised.listeners=CONTROLLER://127.0.0.1:9")
    finding = found("is alive and follows, but nothing listens at 127.0.0.1:9", "its address is named")
    assert finding["object"] == name
    lab.restart(disk.number, role="controller")
    healthy(kfix, "its address is right again")
