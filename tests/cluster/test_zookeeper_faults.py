"""Faults of a real ZooKeeper ensemble of three: one server dead or hung, the quorum lost, no server left."""

import json

import pytest
from kazoo.client import KazooClient

from kfix.core.errors import UnreachableError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import open_line, parse_connect, read_all
from kfix.core.zookeeper.lock import ZooKeeperLock
from kfix.core.zookeeper.servers import probe_node
from kfix.core.zookeeper.wire import children
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import lab_of_its_own
from tests.cluster.lying import Liar, alone
from tests.listening import listening
from tests.waiting import wait_until

NUMBERS = (1, 2, 3)
DEADLINE = 5.0


def start():
    return Lab.up(LabSpec(name="faults", ids=(1,), zookeepers=3, chroot="/kfix"))


own, lab = lab_of_its_own(start, mends=True)


def modes(lab):
    """Number of the ZooKeeper -> leader, follower, read-only, `no quorum`, or nothing where it does not answer."""
    servers = parse_connect(lab.zookeeper_connect).servers
    return {number: probe_node(server, Deadline.after(1)).mode for number, server in zip(NUMBERS, servers, strict=True)}


def wait_modes(lab, numbers, wanted):
    wait_until(lambda: {modes(lab)[number] for number in numbers} <= wanted, lambda: modes(lab), 30)


def wait_forgotten(lab, number):
    """Without a quorum a server ends the brokers' sessions by its own clock: it then knows no broker, and lies."""
    target = parse_connect(connect(lab, number))

    def forgotten():
        with open_line(target, Deadline.after(2)) as line:
            assert line.read_only
            return not read_all(line, target, {"ids": children("/brokers/ids")}, Deadline.after(2))["ids"].children

    wait_until(forgotten, f"server {number} knows no broker", 30)


def connect(lab, *order):
    """The connect string in another order of its servers."""
    servers = parse_connect(lab.zookeeper_connect).servers
    return ",".join(str(servers[number - 1]) for number in order) + "/kfix"


def address(lab, number):
    return str(parse_connect(lab.zookeeper_connect).servers[number - 1])


def one_line(said):
    [line] = [line for line in said.err.splitlines() if line.startswith("kfix:")]
    return line


def everything(lab):
    """Every znode below the chroot with its version."""
    found = {}
    with lab.access() as access:

        def walk(path):
            data, stat = access._zk.get(path)
            found[path] = (data, stat.version)
            for child in access._zk.get_children(path):
                walk(f"{path.rstrip('/')}/{child}")

        walk("/")
    return found


def test_a_whole_ensemble_is_well_and_each_server_is_named_with_its_mode(kfix, lab):
    said = kfix.diagnose()
    assert (said.code, said.json["could_not_read"]) == (0, [])
    assert sorted(modes(lab).values()) == ["follower", "follower", "leader"]


def test_the_faults_of_the_lab_name_zookeepers_and_refuse_strangers(kfix, lab):
    assert kfix.run("lab", "stop", "zk2").out == "zookeeper 2 is stopped\n"
    assert {each.id for each in lab.status().processes if each.condition == "stopped"} == {2}
    with pytest.raises(UsageError, match="not running in lab 'faults': zookeeper 2"):
        lab.break_("healthy")
    assert kfix.run("lab", "cont", "zk2").code == 0
    before = {each.id: each.pid for each in lab.status().processes if each.role == "zookeeper"}
    assert kfix.run("lab", "restart", "zk2").out == "zookeeper 2 is up\n"
    after = {each.id: each.pid for each in lab.status().processes if each.role == "zookeeper"}
    assert (after[1], after[3]) == (before[1], before[3])
    assert after[2] != before[2]
    stranger = kfix.run("lab", "kill", "zk4")
    assert (stranger.code, "no zookeeper 4" in one_line(stranger)) == (2, True)
    nonsense = kfix.run("lab", "kill", "zk")
    assert (nonsense.code, "is not a process" in one_line(nonsense)) == (2, True)


@pytest.mark.parametrize("role", ["follower", "leader"])
def test_with_one_zookeeper_dead_another_is_read(kfix, lab, role):
    dead, *others = sorted(NUMBERS, key=lambda number: modes(lab)[number] != role)
    lab.kill(dead, "zookeeper")
    wait_modes(lab, others, {"leader", "follower"})
    by_brokers = kfix.diagnose()
    by_hand = kfix.diagnose("--zookeeper", connect(lab, dead, *others))
    for said in (by_brokers, by_hand):
        assert (said.code, said.json["could_not_read"], set(said.findings)) == (20, [], {"KFX805"}), said.out
        assert said.findings["KFX805"]["object"] == f"zookeeper {address(lab, dead)}"
        assert said.waited < 2 * DEADLINE
    assert f"started zookeeper {dead}" in lab.mend()


def test_a_hung_zookeeper_in_the_first_place_does_not_keep_another_from_being_read(kfix, lab):
    hung, *others = sorted(NUMBERS, key=lambda number: modes(lab)[number] == "leader")
    lab.stop(hung, "zookeeper")
    hung_first = connect(lab, hung, *others)
    by_brokers = kfix.diagnose("--zookeeper", hung_first, "--timeout", DEADLINE)
    # Without a bootstrap server the brokers are asked after ZooKeeper, and need their part of the time.
    alone = kfix.run("diagnose", "--json", "--zookeeper", hung_first, "--timeout", DEADLINE)
    for said in (by_brokers, alone):
        assert said.json["could_not_read"] == [], said.out
        assert said.findings.keys() == {"KFX805"}
        assert said.findings["KFX805"]["object"].startswith(f"zookeeper {address(lab, hung)}")
        assert said.waited < 2 * DEADLINE
    assert f"continued zookeeper {hung}" in lab.mend()


def test_without_a_quorum_nothing_is_called_healthy_and_nothing_is_changed(kfix, lab):
    before = everything(lab)
    lab.kill(1, "zookeeper")
    lab.kill(3, "zookeeper")
    # In the moment of the loss, too, a machine gets a whole document.
    for said in (kfix.diagnose("--timeout", 2), kfix.run("diagnose", "--json", "--zookeeper", lab.zookeeper_connect)):
        assert (said.json["exit_code"], said.code in {21, 22}) == (said.code, True), said.out
    wait_modes(lab, [2], {"read-only"})
    wait_forgotten(lab, 2)
    for order in ((1, 2, 3), (2, 3, 1)):
        said = kfix.diagnose("--zookeeper", connect(lab, *order), "--timeout", DEADLINE)
        assert (said.code, said.findings.keys() - {"KFX901"}) == (21, {"KFX806"}), said.out
        assert any("read-only, it has no quorum" in text for text in said.json["could_not_read"])
        assert said.waited < 2 * DEADLINE
    alone = kfix.run("diagnose", "--zookeeper", lab.zookeeper_connect, "--timeout", DEADLINE)
    assert (alone.code, "read-only, it has no quorum" in one_line(alone)) == (22, True)
    for_machine = kfix.run("diagnose", "--json", "--zookeeper", lab.zookeeper_connect, "--timeout", DEADLINE)
    assert (for_machine.code, for_machine.json["exit_code"]) == (22, 22)
    assert "read-only, it has no quorum" in for_machine.json["error"]
    plugin = kfix.run("diagnose", "--nagios", "--zookeeper", lab.zookeeper_connect, "--timeout", DEADLINE)
    assert (plugin.code, plugin.out.startswith("KFIX UNKNOWN - ")) == (3, True)
    shown = kfix.on("diagnose", "--timeout", DEADLINE)
    assert shown.code == 21
    assert "no quorum" in shown.out
    assert "healthy" not in shown.out
    refused = kfix.on("runbook", "apply", "coordinator-stuck", "--timeout", DEADLINE)
    assert refused.code == 22
    assert "no quorum" in one_line(refused)
    assert "restarted zookeeper 2, which had no quorum" in lab.mend()
    changed = {path for path, node in everything(lab).items() if before.get(path) != node}
    assert not [path for path in changed if "/brokers/topics" in path or "/admin" in path]


def test_without_any_zookeeper_the_line_names_zookeeper_in_time(kfix, lab):
    for number in NUMBERS:
        lab.kill(number, "zookeeper")
    said = kfix.diagnose("--timeout", DEADLINE)
    assert said.code == 22
    assert any("zookeeper" in text for text in said.json["could_not_read"])
    assert said.waited < 2 * DEADLINE
    alone = kfix.run("diagnose", "--zookeeper", lab.zookeeper_connect, "--timeout", DEADLINE)
    assert (alone.code, "zookeeper" in one_line(alone)) == (22, True)
    # One of three comes back: it serves readers only, and is waited for no longer than that takes.
    lab.restart(2, role="zookeeper")
    assert modes(lab)[2] == "read-only"


def test_a_diagnosis_without_zookeeper_takes_no_thread_from_a_broker(kfix, lab):
    """DescribeConfigs of a topic would block a request handler until ZooKeeper returns; the lab's brokers have few."""
    with lab.access() as access:
        access.create_topic("calm", [[1]], {})
    for number in NUMBERS:
        lab.stop(number, "zookeeper")
    for _ in range(4):
        said = kfix.diagnose("--timeout", "2")
        assert said.code != 0
        assert not [text for text in said.json["could_not_read"] if text.startswith("broker 1")]
        assert [text for text in said.json["could_not_read"] if "topic configs" in text and "not asked" in text]


STATE = "/kfix/brokers/topics/lied/partitions/0/state"
LIES = {
    "another controller": {"lies": {"/kfix/controller": lambda data: data.replace(b'"brokerid":1', b'"brokerid":7')}},
    "an older epoch": {"lies": {"/kfix/controller_epoch": lambda _: b"0"}},
    "no leader": {"lies": {STATE: lambda data: data.replace(b'"leader":1', b'"leader":-1')}},
    "no isr": {"lies": {STATE: lambda data: data.replace(b'"isr":[1]', b'"isr":[]')}},
    "an older transaction": {"zxid": 5},
    "a later transaction": {"zxid": 1 << 50},
}


@pytest.fixture
def lied(lab):
    """A topic of one partition, whose record a server may alter."""
    with lab.access() as access:
        if "lied" not in access.topics():
            access.create_topic("lied", [[1]], {})
        wait_until(lambda: access.states().get(("lied", 0)) is not None, "the partition is recorded", 20)
    return parse_connect(lab.zookeeper_connect).servers


@pytest.mark.parametrize("lie", LIES)
def test_a_server_of_the_ensemble_that_lies_is_outvoted_and_named(kfix, lied, lie):
    with listening(Liar(lied[0], **LIES[lie]).talk) as at:
        outvoted = kfix.diagnose("--zookeeper", f"{at},{lied[1]},{lied[2]}/kfix")
        assert outvoted.code == 22, outvoted.out
        assert not [code for code in outvoted.findings if code.startswith(("KFX1", "KFX2", "KFX3"))], outvoted.findings
        [text] = outvoted.json["could_not_read"]
        assert text.startswith(f"server {at} of zookeeper: it contradicts the other servers"), text
        # One against one: neither is believed, and nothing is planned.
        plain = kfix.diagnose("--zookeeper", f"{at},{lied[1]}/kfix")
        assert (plain.code, "contradict each other" in str(plain.json["could_not_read"])) == (22, True), plain.out
        refused = kfix.on("runbook", "plan", "coordinator-stuck", "--zookeeper", f"{at},{lied[1]}/kfix")
        assert refused.code in {3, 22}, refused.err
        assert "contradict each other" in refused.err


def test_a_frozen_server_hides_no_change_and_no_change_rests_on_it(kfix, lab, lied):
    tp = TopicPartition("lied", 0)
    target = make_target(lab.bootstrap_servers, None)
    with listening(Liar(lied[0], frozen=True).talk) as at:
        connect = parse_connect(f"{at},{lied[1]},{lied[2]}/kfix")
        authority = ZooKeeperAuthority(target, connect)
        before = authority.partition(tp)
        kfix.diagnose("--zookeeper", str(connect))  # freezes what a diagnosis reads
        authority.controller()
        lab.kill(1)
        for read in (lambda: authority.partition(tp), authority.controller):
            with pytest.raises(UnreachableError, match=r"contradict each other: .* at the first, .* at the second"):
                read()
        authority.close()
        honest = ZooKeeperAuthority(target, parse_connect(lab.zookeeper_connect))
        assert honest.partition(tp).registered < before.registered
        honest.close()
        said = kfix.diagnose("--zookeeper", str(connect))
    lab.restart(1)
    assert said.code in {21, 22}, said.out
    assert [text for text in said.json["could_not_read"] if text.startswith(f"server {at} of zookeeper")], said.out


def test_a_server_that_was_started_alone_from_a_copy_is_not_believed_and_grants_no_lock(kfix, lab, lied, tmp_path):
    """As one that is reinstalled without the list of the others: all that it shows was true once."""
    with alone(lab, 3, tmp_path) as at:
        for order in (f"{at},{lied[0]},{lied[1]}/kfix", f"{lied[0]},{at},{lied[1]}/kfix"):
            said = kfix.diagnose("--zookeeper", order)
            assert (said.code, len(said.json["could_not_read"])) == (22, 1), said.out
            assert said.json["could_not_read"][0].startswith(f"server {at} of zookeeper")
        both = parse_connect(f"{at},{lied[0]}/kfix")
        for _ in range(4):  # The lock's client chooses a server at random.
            lock = ZooKeeperLock(both, "faults")
            with pytest.raises(UnreachableError, match="does not show it"):
                lock.take({"user": "test"})
        honest = ZooKeeperLock(parse_connect(lab.zookeeper_connect), "faults")
        honest.take({"user": "test"})
        assert honest.held()
        honest.release()


def test_an_ensemble_that_is_left_over_from_a_migration_counts_for_nothing(kfix, lab):
    """As a finished migration to KRaft leaves it, beside the cluster that uses the ensemble."""
    servers = parse_connect(lab.zookeeper_connect).servers
    left = {
        "/old/cluster/id": {"version": "1", "id": "MIGRATEDxxxxxxxxxxxxxw"},
        "/old/controller": {"version": 2, "brokerid": 3001, "timestamp": "1", "kraftControllerEpoch": 5},
        "/old/controller_epoch": 7,
        "/old/migration": {"version": 0},
        "/old/brokers/topics/t": {
            "version": 2, "partitions": {"0": [1]}, "adding_replicas": {}, "removing_replicas": {}
        },
        "/old/brokers/topics/t/partitions/0/state": {
            "controller_epoch": 6, "leader": 1, "version": 1, "leader_epoch": 9, "isr": [1]
        },
    }  # fmt: skip
    client = KazooClient(",".join(map(str, servers)))
    client.start(10)
    try:
        client.ensure_path("/old/brokers/ids")
        for path, data in left.items():
            client.create(path, json.dumps(data).encode(), makepath=True)
        said = kfix.run("diagnose", "--zookeeper", f"{servers[0]}/old")
    finally:
        client.delete("/old", recursive=True)
        client.stop()
        client.close()
    assert said.code == 22
    assert "left over from a migration to KRaft" in one_line(said)
    assert "--bootstrap-server" in said.err


def test_a_hung_zookeeper_behind_a_read_only_one_hides_nothing(kfix, lab):
    """The two ways to lose a quorum at once, the hung one last: the time left for it is not all there is."""
    lab.stop(3, "zookeeper")
    lab.kill(1, "zookeeper")
    wait_modes(lab, [2], {"read-only"})
    said = kfix.diagnose("--zookeeper", connect(lab, 2, 1, 3), "--timeout", DEADLINE)
    assert (said.code, "KFX806" in said.findings) == (21, True)
    assert any("read-only, it has no quorum" in text for text in said.json["could_not_read"])
    assert said.waited < 2 * DEADLINE
    # ZooKeeper 3.5.9 may keep what it forgot alone when its quorum returns, and the broker does not notice.
    wait_forgotten(lab, 2)
    lab.cont(3, "zookeeper")
    lab.restart(1, role="zookeeper")
    lab.mend()
    # The server that hung answers reads from what it knew until it has caught up.
    with lab.access() as access:
        wait_until(lambda: access.live_ids() == {1}, "every server knows broker 1", 20)
