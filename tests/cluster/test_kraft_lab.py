"""The lab on KRaft: one cluster of Kafka 4.3.1 with a controller apart, its verbs, and incidents that only it has."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from kfix.core.errors import UsageError
from kfix.lab import Lab, LabSpec
from kfix.lab.clients.asking_controllers import unregister
from kfix.lab.healing.health import trouble
from kfix.lab.nodes.brokers import add_broker
from kfix.lab.process.processes import find_tagged
from tests.cluster.conftest import KFIX, WatchedLab
from tests.tries import again
from tests.waiting import seconds, wait_until

CONTROLLER = 100


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("kraft-labs")
        patch.setenv("KFIX_LAB_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def kraft_lab(home):
    lab = WatchedLab.up(LabSpec(name="kraft", kafka="4.3.1"))
    yield lab
    lab.down()


@pytest.fixture
def kraft(kraft_lab, request):
    if kraft_lab.status().incident is not None or again(request):
        kraft_lab.mend()
    yield kraft_lab
    whole(kraft_lab)


def whole(lab):
    """Mends the cluster, which must then be as if nothing had happened to it."""
    lab.mend()
    status = lab.status()
    assert {each.condition for each in status.processes} == {"alive"}
    assert (status.incident, status.active_controller) == (None, CONTROLLER)
    with lab.access() as access:
        assert trouble(access, lab.broker_ids) == ()
        assert set(access.topics()) <= {"__consumer_offsets"}
        assert not [name for name in access.configs("brokers") if name.isdigit()]


def run(*words):
    done = subprocess.run(
        [KFIX, "lab", *map(str, words)], capture_output=True, text=True, check=False, timeout=seconds(90)
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_status_shows_the_mode_the_controllers_and_which_is_active_and_no_zookeeper(kraft):
    code, out, _ = run("status", "--name", "kraft")
    assert code == 0
    assert "Kafka 4.3.1 on KRaft" in out
    assert f"{CONTROLLER} is active" in out
    assert "zookeeper" not in out.lower()
    said = json.loads(run("status", "--name", "kraft", "--json")[1])
    assert (said["mode"], said["zookeeper_connect"], said["active_controller"]) == ("kraft", "", CONTROLLER)
    assert said["controllers"].count(":") == 1


def test_every_node_is_formatted_once_with_the_same_cluster_id(kraft):
    state = kraft.state
    found = [
        Path(state.data, name, "meta.properties").read_text() for name in ("controller-100", "broker-1", "broker-3")
    ]
    assert all(f"cluster.id={state.cluster_id}" in text for text in found)
    before = Path(state.data, "broker-2", "meta.properties").read_text()
    kraft.restart(2)
    assert Path(state.data, "broker-2", "meta.properties").read_text() == before


def test_a_killed_broker_is_fenced_and_an_added_one_joins_and_goes(kraft):
    assert kraft.kill(3) is True
    with kraft.access() as access:
        assert access.live_ids() == {1, 2}
    add_broker(kraft, 4)
    with kraft.access() as access:
        assert access.live_ids() == {1, 2, 4}
    with pytest.raises(UsageError, match="already has a node 100"):
        add_broker(kraft, CONTROLLER)
    assert "removed broker 4" in kraft.mend()
    # BROKER_ID_NOT_REGISTERED: its registration is gone already.
    assert unregister(kraft.address(1), 4) == 102


def test_the_verbs_reach_a_controller(kraft):
    assert run("kill", "controller", CONTROLLER, "--name", "kraft")[:2] == (0, f"controller {CONTROLLER} is dead\n")
    assert "none is active" in run("status", "--name", "kraft")[1]
    assert kraft.kill(2) is False
    assert run("restart", "controller", CONTROLLER, "--name", "kraft")[0] == 0
    assert run("stop", "controller", CONTROLLER, "--name", "kraft")[0] == 0
    assert kraft.status().active_controller is None
    assert run("cont", "controller", CONTROLLER, "--name", "kraft")[0] == 0
    code, _, err = run("kill", "controller", 7, "--name", "kraft")
    assert code != 0
    assert "has no controller 7" in err


def test_an_incident_of_the_other_mode_is_refused_with_what_can_be_made(kraft):
    with pytest.raises(UsageError, match="KRaft has none") as told:
        kraft.break_("metadata-divergence")
    assert "quorum-lost" in told.value.hint
    assert "coordinator-silent" not in told.value.hint


def test_down_ends_what_an_up_that_was_killed_while_it_formatted_left_behind(home, kraft_lab):
    starting = subprocess.Popen(
        [KFIX, "lab", "up", "--kafka", "3.9.2", "--mode", "kraft", "--combined", "--brokers", "1", "--name", "half"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    )
    state = home / "half" / "lab.json"
    wait_until(lambda: state.exists() and '"format"' in state.read_text(), "a disk is formatted", 60, pause=0.02)
    starting.kill()
    starting.communicate()
    lab = Lab.open("half")
    lab_id, data = lab.state.id, Path(lab.state.data)
    lab.down()
    assert find_tagged(lab_id) == []
    assert not data.exists()
    assert {each.condition for each in kraft_lab.status().processes} == {"alive"}
