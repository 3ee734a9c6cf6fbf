"""A quorum whose majority is lost for good: recovered by the runbook, on real disks, and no rival takes it over."""

from dataclasses import replace

import pytest

from kfix.core.derive.seed import FENCE
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import LabSpec
from kfix.lab.clients.asking_controllers import quorum_seen_by
from kfix.lab.nodes.failures import give_disks_back, without_disk
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.recovering import Survivor
from tests.cluster.seen import Cluster, consumed
from tests.waiting import wait_until

FIRST = TopicPartition("orders", 0)
PARTITIONS, WRITTEN, MORE = 3, 20, 50


def start(version):
    """The voters of one version are static, those of the other may change."""
    spec = LabSpec(name="recover", kafka=version, mode="kraft", controllers=3)
    return WatchedLab.up(replace(spec, dynamic_quorum=version != "3.9.2"))


own, lab = lab_of_its_own(start, params=["3.9.2", "4.3.1"])


@pytest.fixture
def cluster(lab):
    with lab.access() as access:
        yield Cluster(lab, access)


def led_by(lab, node):
    """What the controller answers as the active one; None if it does not."""
    try:
        return quorum_seen_by(lab.quorum.addresses()[node])
    except UnreachableError:
        return None


def recovered(operator, planned, survivor):
    going = operator.begin(planned)
    run = operator.ran(planned)
    wait_until(lambda: run.of("step.waiting") or going.ended, "the run waits for the controller", 60)
    survivor.start()
    said = going.over(120)
    assert (said.code, run.end) == (0, "proved"), said.out + said.err


def elects_no_second_quorum(cluster, survivor):
    """The other two controllers run while the recovered one is down; every broker stays, and follows it again."""
    lab, state = cluster.lab, cluster.lab.state
    lab.nodes.kill(state, [survivor.node], "controller")
    for node in survivor.lost:
        lab.nodes.start(state, "controller", state.controller(node))
    rival = wait_until(lambda: next(filter(None, (led_by(lab, n) for n in survivor.lost)), None), "a rival leads", 60)
    assert rival.epoch < FENCE
    before = lab.quorum.applied()
    assert cluster.access.produce_at(cluster.access.state(*FIRST).leader, FIRST, MORE, "all") == MORE
    assert lab.quorum.applied() == before, "no broker applies what the rival writes"
    survivor.start()
    wait_until(lambda: led_by(lab, survivor.node), "the recovered controller leads", 60)
    lab.nodes.kill(
        state, [n for n in survivor.lost if lab.nodes.condition(state, "controller", n) != "dead"], "controller"
    )
    topic = f"after-{rival.epoch}"
    cluster.access.create_topic(topic, [[1, 2]], {})
    wait_until(lambda: topic in cluster.access.topics(), "a topic is created", 20)
    assert set(lab.nodes.brokers_in(lab.state, "alive")) == set(lab.broker_ids)


def test_the_longest_copy_becomes_the_only_voter_with_nothing_lost_and_no_rival_wins(lab, cluster, operator):
    lab.break_("quorum-majority-lost")
    survivor = Survivor(lab)
    found = operator.until(lambda said: "KFX811" in said.findings, "the quorum is lost", "--debounce", "0").findings
    command = found["KFX811"]["remedies"][-2]["command"]
    named = f"-p lost={','.join(map(str, survivor.lost))} -p node={survivor.node} "
    # Where the voters may change, the settings have the addresses of controllers alone.
    assert ("-p lost=ID,ID -p node=ID " if lab.state.spec.dynamic_quorum else named) in command
    copies = survivor.params["copies"].replace(".old", "")
    running = survivor.params | {"copies": copies, "into": f"{survivor.disk}.new"}
    assert "stop it first" in operator.not_planned("quorum-recover", params=running)
    survivor.stop()
    one = survivor.params | {"lost": str(survivor.lost[0])}
    assert "are a majority: start them" in operator.not_planned("quorum-recover", params=one)
    before = cluster.access.states()
    assert cluster.access.produce_at(before[FIRST].leader, FIRST, MORE, "all") == MORE

    planned = operator.plan("quorum-recover", params=survivor.params)
    assert planned.gates == {"write-log": "typed", "start": "step"}
    recovered(operator, planned, survivor)
    assert led_by(lab, survivor.node).epoch > FENCE
    assert set(led_by(lab, survivor.node).log_ends) == {survivor.node}
    assert cluster.access.states() == before
    assert consumed(cluster, "all", wanted=PARTITIONS * WRITTEN + MORE) == PARTITIONS * WRITTEN + MORE
    assert "KFX811" not in operator.diagnose("--debounce", "0").findings
    said, path = operator.planning("quorum-recover", params=survivor.params)
    assert (said.code, path.exists()) == (0, False)
    assert "nothing to do" in said.out

    assert without_disk(lab) == survivor.lost
    give_disks_back(lab)
    elects_no_second_quorum(cluster, survivor)
    for node in survivor.lost:
        lab.nodes.wipe_disk(lab.state, node, "controller")
    lab.nodes.format_disks(lab.state, "controller", lab.state.own_controllers)
    elects_no_second_quorum(cluster, survivor)
    total = PARTITIONS * WRITTEN + 3 * MORE
    assert consumed(cluster, "all-again", wanted=total) == total
