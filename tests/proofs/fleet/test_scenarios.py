"""The table `scenarios` is what `kfix whatif` says of the same snapshots: in SQL, and by the rules in Python."""

import contextlib
from datetime import date
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kfix.core.derive.casefile import open_case
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.elections import UNCLEAN
from kfix.core.failures.judging import Judge
from kfix.core.failures.masks import MOST_BROKERS, MOST_REPLICAS
from kfix.core.failures.rules import FORMULAS
from kfix.core.failures.scenarios import racks_of
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.snapshots import load_snapshot
from kfix.fleet.audit.scenarios import WITHOUT_PAIRS, RunScenarios, row_by_rules
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.scenarios import BROKER, PAIR, RACK
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from kfix.heal.memory.cluster import MemoryCluster
from tests.places import ROOT
from tests.proofs.derive.failures.clusters import clusters
from tests.proofs.derive.failures.rows import WANTED, as_table, by_python, made_ugly, states

DAY = date(2026, 1, 1)
STATES = 20_000
CLUSTERS = 130


def by_sql(engine, found):
    statement = f"SELECT n, {', '.join(WANTED)} FROM {FORMULAS.select('given', WANTED, MOST_REPLICAS)} AS j ORDER BY n"
    rows = engine.query(statement, {"given": as_table(found)}).to_pylist()
    return [tuple(row[name] for name in WANTED) for row in rows]


def test_the_statement_made_of_the_rules_gives_what_the_rules_give():
    found = states(Random(5), STATES)
    wanted = by_python(found)
    assert by_sql(EmbeddedEngine(1), found) == wanted
    assert len({row[0] for row in wanted}) == 7, "every fate occurs"


def gathered(count):
    found = []

    @settings(
        max_examples=count, database=None, derandomize=True, phases=[Phase.generate], deadline=None,
        suppress_health_check=[*HealthCheck],
    )  # fmt: skip
    @given(clusters())
    def gather(cluster):
        found.append(cluster.snapshot())

    gather()
    return found


def wide(brokers, factor=3):
    """Returns a cluster with more brokers, or more replicas, than the masks have bits or places."""
    cluster = MemoryCluster()
    for number in range(1, brokers + 1):
        cluster.add_broker(number, rack="abc"[number % 3])
    cluster.control.fail_over_to(1)
    for topic, each in (("orders", factor), (OFFSETS_TOPIC, min(2, factor)), ("single", 1)):
        for partition in range(5):
            first = partition * 7
            replicas = tuple((first + i) % brokers + 1 for i in range(each))
            cluster.add_partition(TopicPartition(topic, partition), replicas)
    cluster.groups["pay"] = 7
    cluster.kill(2)
    return cluster.snapshot()


def without_controller():
    """The record names another leader than the brokers: only a new controller, which reads the record, elects one."""
    cluster = MemoryCluster.healthy(topics={"orders": 3})
    cluster.corrupt_state(TopicPartition("orders", 0), leader=3, isr=(3, 2))
    cluster.records.controller = None
    return cluster.snapshot()


def unclean_after_two():
    """Two failures together make Kafka elect a replica that lacks records, and stop nothing."""
    cluster = MemoryCluster.healthy(topics={"orders": 1})
    tp = TopicPartition("orders", 0)
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {UNCLEAN: "true"})
    cluster.corrupt_state(tp, leader=1, isr=(1, 2))
    return cluster.snapshot()


def stored(folder, snapshots):
    writer = RunWriter(place_of(folder), DAY, "r")
    writer.begin()
    for name, snapshot in snapshots.items():
        writer.write(name, snapshot)
    return writer.finish()


def expected(name, snapshot):
    """The rows of a cluster by the rules of `kfix whatif`; of pairs only those that stop more than their brokers do."""
    case = open_case(snapshot)
    if not case.live:
        return []
    judge = Judge(case)
    fits = len(judge.masks.bits) <= MOST_BROKERS and all(len(r.order) <= MOST_REPLICAS for r in judge.masks.rows)

    def row(kind, down, brokers):
        return row_by_rules(judge, name, kind, down, frozenset(brokers))

    live = sorted(case.live)
    singles = {b: row(BROKER, str(b), (b,)) for b in live}
    racks = [row(RACK, rack, brokers) for rack, brokers in sorted(racks_of(case).items())]
    pairs = [row(PAIR, f"{a},{b}", (a, b)) for a in live for b in live if a < b] if fits else []

    def lost(each):
        return each.stops + each.unclean

    kept = [p for p in pairs if lost(p) > sum(lost(singles[b]) for b in p.brokers)]
    return sorted([*singles.values(), *kept, *racks], key=lambda r: (r.cluster, r.kind, r.brokers, r.down))


@pytest.fixture(scope="module")
def snapshots():
    found = {f"random-{i:04}": one for i, one in enumerate(made_ugly(gathered(CLUSTERS)))}
    found |= {"wide": wide(MOST_BROKERS + 1), "widest-mask": wide(MOST_BROKERS), "deep": wide(9, MOST_REPLICAS + 1)}
    found |= {"no-controller": without_controller(), "unclean": unclean_after_two()}
    for file in sorted((ROOT / "examples" / "snapshots").glob("*.json.gz")):
        found[file.name.removesuffix(".json.gz")] = load_snapshot(file)
    return found


@pytest.fixture(scope="module")
def run(snapshots, tmp_path_factory):
    return stored(tmp_path_factory.mktemp("store"), snapshots)


def test_every_row_is_what_whatif_shows_of_the_snapshot(snapshots, run):
    found = RunScenarios(run.root, run, EmbeddedEngine(1)).every()
    made = {name: [row for row in found.rows if row.cluster == name] for name in snapshots}
    for name, snapshot in snapshots.items():
        assert made[name] == expected(name, snapshot), name
    assert found.unjudged.keys() == {"wide", "deep"} | {name for name in snapshots if not made[name]}
    assert found.unjudged["wide"] == found.unjudged["deep"] == WITHOUT_PAIRS
    assert "widest-mask" not in found.unjudged
    seen = {count for row in found.rows for count in COUNTED if getattr(row, count)}
    assert seen == {*COUNTED}, "every column has rows in which it is not 0"
    assert {row.complete for row in found.rows} == {True, False}


COUNTED = (
    "stops", "stranded", "unclean", "under_min_isr", "last_in_sync", "moves", "unknown", "topics", "offsets",
    "transactions", "groups", "unwritable", "controller",
)  # fmt: skip


def test_one_failure_of_any_brokers_is_what_whatif_shows_of_it(snapshots, run):
    rng = Random(8)
    scenarios = RunScenarios(run.root, run, EmbeddedEngine(1))
    asked = {
        name: ("pair", "some", frozenset(rng.sample(sorted(live.racks), min(3, len(live.racks)))))
        for name, live in scenarios.brokers.items()
    }
    found = {row.cluster: row for row in scenarios.chosen(asked).rows}
    for name, (kind, down, brokers) in asked.items():
        judge = Judge(open_case(snapshots[name]))
        assert found[name] == row_by_rules(judge, name, kind, down, brokers), name


def test_a_damaged_file_of_partitions_spoils_only_its_cluster(snapshots, tmp_path):
    names = ("wide", "deep", "widest-mask")
    run = stored(tmp_path, {name: snapshots[name] for name in names})
    sound = RunScenarios(run.root, run, EmbeddedEngine(1)).every()
    with contextlib.ExitStack() as after:
        path = next(tmp_path.rglob("widest-mask-*.parquet"))
        whole = path.read_bytes()
        after.callback(path.write_bytes, whole)
        path.write_bytes(whole[:200] + bytes(100) + whole[300:-20] + bytes(20))
        found = RunScenarios(run.root, run, EmbeddedEngine(1)).every()
    assert found.unjudged.keys() == {*names}
    assert "cannot be read" in found.unjudged["widest-mask"]
    assert [r for r in found.rows if r.cluster != "widest-mask"] == [
        r for r in sound.rows if r.cluster != "widest-mask"
    ]
    assert any(row.stops for row in found.rows if row.cluster == "widest-mask"), "the masks are in another table"
