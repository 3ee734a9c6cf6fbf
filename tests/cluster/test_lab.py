"""The lab on real brokers: up and down, faults, a crash of the lab itself, and every incident there and back."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab import Lab, LabSpec, Workload, WorkloadPlan
from kfix.lab.healing.health import trouble
from kfix.lab.nodes.brokers import add_broker
from kfix.lab.nodes.classpath import cache_home
from kfix.lab.workload.background import read_counts, start_in_background
from kfix.lab.workload.workload import target
from tests.waiting import seconds, wait_until

pytestmark = pytest.mark.cluster

IDS = (1001, 2002, 3003)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("lab-tests")
        patch.setenv("KFIX_LAB_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def drill(home):
    lab = Lab.up(LabSpec(name="drill", ids=IDS, racks=("a", "b", "c"), chroot="/kfix"))
    yield lab
    lab.down()


@pytest.fixture
def whole(drill):
    """The lab as it was, whatever the test before left behind."""
    yield drill
    drill.mend()


def kfix_lab(*words):
    command = [sys.executable, "-m", "kfix", "lab", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*words):
    process = kfix_lab(*words)
    out, err = process.communicate(timeout=seconds(120))
    assert "Traceback" not in out + err, out + err
    return process.returncode, out, err


def tagged(lab_id):
    """Pids of every process of this machine that carries the lab's id."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"-Dkfix.lab.id={lab_id}".encode() in words:
                found.append(int(entry.name))
    return found


def conditions(lab):
    return {each.id: each.condition for each in lab.status().processes if each.role == "broker"}


# --- up, down, brokers ------------------------------------------------------------------------------------------------


def test_an_up_lab_is_healthy_and_shows_its_addresses(drill):
    status = drill.status()
    assert [(each.id, each.rack) for each in status.processes if each.role == "broker"] == [
        *zip(IDS, "abc", strict=True)
    ]
    assert {each.condition for each in status.processes} == {"alive"}
    assert drill.zookeeper_connect.endswith("/kfix")
    assert drill.bootstrap_servers.split(",") == [drill.address(broker) for broker in IDS]
    assert all(int(each.address.rpartition(":")[2]) < 32_768 for each in status.processes)
    with drill.access() as access:
        assert trouble(access, IDS) == ()


def test_a_second_up_of_the_same_name_is_refused_and_harms_nothing(drill):
    with pytest.raises(UsageError, match="already") as told:
        Lab.up(LabSpec(name="drill"))
    assert "down --name drill" in told.value.hint
    assert set(conditions(drill).values()) == {"alive"}


def test_a_killed_broker_is_dead_and_its_session_over_and_restart_brings_it_back(whole):
    whole.kill(1001)
    assert conditions(whole)[1001] == "dead"
    with whole.access() as access:
        assert access.live_ids() == {2002, 3003}
    whole.restart(1001)
    with whole.access() as access:
        assert access.live_ids() == set(IDS)
        assert set(access.metadata(1001).brokers) == set(IDS)


def test_a_stopped_broker_answers_no_request_until_it_continues(whole):
    whole.stop(2002)
    assert conditions(whole)[2002] == "stopped"
    with whole.access() as access:
        assert access.metadata(2002) is None
        whole.cont(2002)
        wait_until(lambda: access.metadata(2002), "an answer of 2002")


def test_a_clean_restart_gives_a_new_process_on_the_same_port(whole):
    before = {each.id: (each.pid, each.address) for each in whole.status().processes}
    whole.restart(3003)
    after = {each.id: (each.pid, each.address) for each in whole.status().processes}
    assert after[3003][1] == before[3003][1]
    assert after[3003][0] != before[3003][0]


def test_a_restart_right_after_a_kill_waits_for_the_old_session(whole):
    whole.kill(2002, wait=False)
    whole.restart(2002)
    assert conditions(whole)[2002] == "alive"


def test_an_added_broker_joins_and_mend_removes_it(whole):
    add_broker(whole, 65633, "d")
    with whole.access() as access:
        assert set(access.metadata(1001).brokers) == {*IDS, 65633}
    assert "removed broker 65633" in whole.mend()
    assert whole.broker_ids == IDS


def test_an_unknown_broker_is_a_usage_error(drill):
    for fault in (drill.kill, drill.stop, drill.cont, drill.restart, drill.address):
        with pytest.raises(UsageError, match="no broker 7"):
            fault(7)


# --- the lab itself crashes -------------------------------------------------------------------------------------------


def half_up(home, name):
    process = kfix_lab("up", "--name", name, "--brokers", 1)
    state = home / name / "lab.json"
    wait_until(
        lambda: state.exists() and len(json.loads(state.read_text())["processes"]) == 2, "two processes recorded"
    )
    lab_id = json.loads(state.read_text())["id"]
    assert len(tagged(lab_id)) == 2
    return process, lab_id


def test_processes_map_their_classes_from_an_archive_that_the_first_lab_of_a_version_makes(
    drill, monkeypatch, tmp_path
):
    cached = cache_home()
    folder = tmp_path / "cache" / "kfix"
    folder.mkdir(parents=True)
    for answer in cached.glob("classpath-*.txt"):
        shutil.copy2(answer, folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    first = Lab.up(LabSpec(name="first", ids=(1,)))
    try:
        assert str(folder) not in maps(first)
        archive = wait_until(lambda: next(folder.glob("kafka-*.jsa"), None), "the archive", 180)
        first.restart(1)
        assert str(archive) in maps(first)
    finally:
        first.down()
    archive.unlink()
    # A lab that ends while its archive is being made ends that, too, and leaves none.
    second = Lab.up(LabSpec(name="second", ids=(1,)))
    lab_id = second.state.id
    wait_until(lambda: any(b"-Xshare:dump" in command(pid) for pid in tagged(lab_id)), "the process that makes it")
    second.down()
    assert tagged(lab_id) == []
    assert not list(folder.glob("kafka-*.jsa"))


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def maps(lab):
    record = next(each for each in lab.status().processes if each.role == "broker")
    return Path(f"/proc/{record.pid}/maps").read_text()


def test_down_ends_what_an_up_killed_half_way_left_behind(home, drill):
    process, lab_id = half_up(home, "crashed")
    process.kill()
    process.communicate()
    data = Path(Lab.open("crashed").state.data)
    assert data.exists()
    code, out, _ = run("down", "--name", "crashed")
    assert (code, "ended 2 processes" in out) == (0, True)
    assert tagged(lab_id) == []
    assert not data.exists()
    assert not (home / "crashed").exists()
    assert set(conditions(drill).values()) == {"alive"}


def test_ctrl_c_during_up_leaves_nothing(home):
    for number, name in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
        process, lab_id = half_up(home, name)
        process.send_signal(number)
        process.communicate(timeout=seconds(30))
        assert process.returncode != 0
        assert tagged(lab_id) == []
        assert not (home / name).exists()


_OWNER = """
import sys
from pathlib import Path
from kfix.lab import Lab, LabSpec
from tests.cluster.guard import labs_below
with labs_below(Path(sys.argv[1])):
    Lab.up(LabSpec(name="orphan", ids=(1,)))
    print("up", flush=True)
    sys.stdin.read()
"""


def test_the_lab_of_a_test_process_that_is_killed_ends_with_it(tmp_path):
    env = os.environ | {"KFIX_LAB_HOME": str(tmp_path / "labs")}
    words = [sys.executable, "-c", _OWNER, tmp_path]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as owner:
        assert owner.stdout.readline() == "up\n"
        state = tmp_path / "labs" / "orphan" / "lab.json"
        lab_id = json.loads(state.read_text())["id"]
        assert tagged(lab_id)
        owner.kill()
    wait_until(lambda: not tagged(lab_id), "its processes have ended", 30)
    wait_until(lambda: not state.exists(), "its state is gone", 30)


def test_two_labs_that_start_at_once_get_different_ports(home):
    starting = [kfix_lab("up", "--name", name, "--brokers", 1) for name in ("left", "right")]
    try:
        said = [process.communicate(timeout=seconds(120))[1] for process in starting]
        assert [process.returncode for process in starting] == [0, 0], said
        left, right = (Lab.open(name).state.ports() for name in ("left", "right"))
        assert not left & right
    finally:
        for name in ("left", "right"):
            run("down", "--name", name)


def test_a_setting_that_no_broker_takes_is_reported_with_the_line_of_the_log_and_leaves_nothing(home):
    with pytest.raises(LabError, match=r"broker 1 did not start: .*num\.io\.threads") as told:
        Lab.up(LabSpec(name="wrong", ids=(1,), settings={"num.io.threads": "none"}))
    assert Path(told.value.hint.removeprefix("its log: ")).is_file()
    assert not (home / "wrong").exists()


# --- incidents --------------------------------------------------------------------------------------------------------


def test_a_cluster_that_was_healed_by_others_is_mended_as_well(whole):
    broken = whole.break_("coordinator-stuck")
    [(topic, number)] = broken.partitions
    with whole.access() as access:
        access.reassign({(topic, number): access.assignment(topic)[number]})
        wait_until(lambda: access.state(topic, number).leader > 0, "a leader")
    whole.mend()
    with whole.access() as access:
        assert trouble(access, IDS) == ()


def test_a_cluster_whose_controller_was_frozen_is_mended(whole):
    whole.break_("healthy")
    with whole.access() as access:
        controller = access.controller()
        other = next(broker for broker in IDS if broker != controller)
        whole.stop(controller)
        whole.stop(other)
        wait_until(lambda: len(access.live_ids()) == 1, "one broker left")
    whole.mend()
    assert set(conditions(whole).values()) == {"alive"}


def test_the_offsets_topic_can_be_packed_on_chosen_brokers(whole):
    broken = whole.break_("offsets-rf1", brokers=(2002,), kill=2002)
    assert broken.dead == (2002,)
    assert len(broken.partitions) == 5


# --- workload ---------------------------------------------------------------------------------------------------------


def test_a_workload_on_a_healthy_cluster_loses_and_doubles_nothing(whole):
    whole.break_("healthy")
    aim = target(whole, offsets_partition=3)
    load = Workload(WorkloadPlan(whole.bootstrap_servers, aim.topic, aim.group, rate=100, seconds=2))
    load.start()
    counts = load.wait()
    assert counts.sent == counts.acknowledged == counts.received
    assert 150 <= counts.sent <= 201
    assert (counts.failed, counts.lost, counts.duplicated, counts.waiting) == (0, 0, 0, 0)


def test_a_workload_in_the_background_counts_and_down_would_end_it(whole):
    aim = target(whole, "background", group="g")
    number = start_in_background(whole, WorkloadPlan(whole.bootstrap_servers, aim.topic, aim.group, seconds=60))
    wait_until((whole.store.dir / f"workload-{number}.counts.json").exists, "counts")
    wait_until(lambda: read_counts(whole, number)["received"] > 0, "received records")
    [status] = [each for each in whole.status().processes if (each.role, each.id) == ("workload", number)]
    assert status.condition == "alive"
    assert "received" in status.note
