"""`kfix whatif`: what it prints of saved and of live clusters, and its exit codes."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from kfix.core.application import App
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.saved.files import save
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import UNCLEAN
from kfix.heal.memory.incidents import ALL
from kfix.shell.app import app
from tests.places import ROOT
from tests.unit.heal.fake_wiring import FakeWiring

SNAPSHOTS = ROOT / "examples" / "snapshots"


def run(*args: object, behind: App | None = None) -> Result:
    return CliRunner().invoke(app, ["whatif", *map(str, args)], obj=behind)


@pytest.fixture
def behind(tmp_path):
    def made(cluster):
        return FakeWiring(cluster).app(tmp_path / "state", cluster.clock)

    return made


def test_the_overview_lists_the_worst_failures_first():
    result = run("--from", SNAPSHOTS / "offsets-rf1.json.gz")
    assert result.exit_code == 21
    lines = result.stdout.splitlines()
    assert "of 3 failures, 3 would stop something" in lines[0]
    assert lines[2] == "2 partitions without a leader today: not counted below"
    assert lines[4].split("  ")[0].strip() == "down"
    assert [line.split()[0] for line in lines[5:8]] == ["brokers", "rack", "rack"]
    assert lines[-1] == "the partitions and groups of one: kfix whatif --down broker=1001,1003"


def test_one_failure_names_partitions_groups_and_remedies():
    result = run("--from", SNAPSHOTS / "offsets-rf1.json.gz", "--down", "broker=1003")
    assert result.exit_code == 21
    assert (
        "no leader until a broker comes back (no in-sync replica is left): 1 partition\n  __consumer_offsets: 2\n"
        in (result.stdout)
    )
    assert "groups whose coordinator stops: billing-3" in result.stdout
    assert "kfix runbook plan raise-offsets-rf -p topic=__consumer_offsets -p rf=2" in result.stdout


def test_a_record_that_has_diverged_is_named_before_it_strands_a_group(behind):
    result = run("--down", "broker=1", behind=behind(ALL["metadata-divergence"]().cluster))
    assert result.exit_code == 21, result.output
    assert "no leader although an in-sync replica is left" in result.stdout
    assert "kfix runbook plan metadata-divergence --finding KFX201:" in result.stdout


def test_unclean_elections_are_named_as_a_loss(behind):
    cluster = MemoryCluster.healthy(topics={"orders": 3}, replication=2)
    cluster.kill(3)
    cluster.revive(3)
    for broker in cluster.brokers.values():
        broker.configs[UNCLEAN] = "true"
    result = run("--down", "broker=2", behind=behind(cluster))
    assert result.exit_code == 21, result.output
    assert "would lose records by an unclean election" in result.stdout
    assert "elected unclean, records lost: 1 partition\n  orders: 1\n" in result.stdout
    assert "are not in sync today: bring them back into the ISR first" in " ".join(result.stdout.split())
    assert "kfix explain KFX604" in result.stdout


def test_min_isr_equal_to_the_replication_factor_is_explained(behind):
    cluster = MemoryCluster.healthy(topics={OFFSETS_TOPIC: 5}, groups={"pay": 1})
    cluster.records.topic_configs[OFFSETS_TOPIC] = {"min.insync.replicas": "3"}
    result = run("--down", "broker=2", behind=behind(cluster))
    assert result.exit_code == 20, result.output
    assert "kfix explain KFX603" in result.stdout
    said = " ".join(result.stdout.split())
    assert "can no longer commit or rebalance (__consumer_offsets under min.insync.replicas): pay" in said


def test_replicas_in_one_rack_are_to_be_spread(behind):
    cluster = MemoryCluster.healthy(brokers=4, topics={}, racks={1: "a", 2: "a", 3: "b", 4: "b"})
    cluster.add_partition(TopicPartition("packed", 0), (1, 2))
    result = run("--down", "rack=a", behind=behind(cluster))
    assert result.exit_code == 21, result.output
    assert "rack a (brokers 1, 2)" in result.stdout
    assert "kfix runbook plan spread-replicas -p topic=packed" in result.stdout


def test_transactional_ids_are_known_by_their_partitions_only(behind):
    cluster = MemoryCluster.healthy(topics={"__transaction_state": 3}, replication=1)
    result = run("--down", "broker=2", behind=behind(cluster))
    assert "transactional ids that hash to __transaction_state 1 stop" in result.stdout


def test_json_holds_the_partitions_of_one_failure_and_counts_of_all():
    chosen = json.loads(run("--from", SNAPSHOTS / "healthy.json.gz", "--down", "rack=a", "--json").stdout)
    [one] = chosen["failures"]
    assert (chosen["exit_code"], one["racks"], one["stops"]) == (0, ["a"], 0)
    assert {p["fate"] for p in one["partitions"]} == {"moves"}
    every = json.loads(run("--from", SNAPSHOTS / "healthy.json.gz", "--json").stdout)
    assert [f["brokers"] for f in every["failures"]] == [
        [1001, 1002], [1001, 1003], [1002, 1003], [1001], [1002], [1003],
    ]  # fmt: skip
    assert all(f["partitions"] == [] for f in every["failures"])


def test_a_cluster_of_many_brokers_is_judged_without_pairs(behind):
    result = run(behind=behind(MemoryCluster.healthy(brokers=31, topics={"orders": 62})))
    assert result.exit_code == 0, result.output
    assert "31 failures judged, nothing would stop" in result.stdout
    assert "and 19 more, none of them worse" in result.stdout
    assert "pairs of brokers are judged up to 30 brokers" in result.stdout


def test_what_was_not_read_is_unknown(tmp_path):
    snapshot = MemoryCluster.healthy().snapshot()
    save(replace(snapshot, zookeeper=None), tmp_path / "blind.json")
    result = run("--from", tmp_path / "blind.json", "--down", "broker=1")
    assert result.exit_code == 22
    assert "nothing that is known would stop" in result.stdout
    assert "unknown:\n  ZooKeeper was not read" in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--down", "broker=7"), "broker 7 does not exist; alive: brokers 1001, 1002, 1003"),
        (("--down", "rack=z"), "no rack 'z'; the racks of live brokers are a, b, c"),
        (("--zookeeper", "zk1:2181"), "leave out --bootstrap-server, --cluster and --zookeeper"),
        (("--debounce", "-1"), "--debounce must be"),
    ],
)
def test_wrong_input_is_one_line(args, words):
    result = run("--from", SNAPSHOTS / "healthy.json.gz", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_pasted_text_without_live_brokers_cannot_be_judged():
    result = run("--from", ROOT / "examples" / "describe" / "stuck.txt")
    assert result.exit_code == 22
    assert "no source shows which brokers are alive" in result.stderr
