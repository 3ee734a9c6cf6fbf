"""How commands to paste name the cluster: by its name in the inventory, or by as few servers as are needed."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.casefile import open_case
from kfix.core.snapshot.snapshot import ReachedBy, Snapshot
from kfix.core.target import make_target
from kfix.diagnose.advice import remedies_of
from kfix.whatif.forecast import forecast_of
from kfix_diagnostics._advice import cluster_options, servers
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import coordinator_stuck, offsets_rf1


def snapshot_with(bootstrap: str) -> Snapshot:
    snapshot = coordinator_stuck().snapshot()
    return replace(snapshot, cluster=replace(snapshot.cluster, bootstrap=bootstrap))


def test_two_servers_are_enough_and_those_that_answered_come_first() -> None:
    snapshot = snapshot_with("")
    dead = next(b for b in snapshot.addresses if b not in snapshot.views)
    alive = [str(snapshot.addresses[b]) for b in snapshot.views]
    given = f"{snapshot.addresses[dead]},elsewhere:9092,{','.join(alive)}"
    assert servers(open_case(snapshot_with(given))) == f"--bootstrap-server {alive[0]},{alive[1]}"
    unknown = f"{snapshot.addresses[dead]},elsewhere:9092,another:9092"
    assert servers(open_case(snapshot_with(unknown))) == "--bootstrap-server elsewhere:9092,another:9092"
    only = str(snapshot.addresses[dead])
    assert servers(open_case(snapshot_with(only))) == f"--bootstrap-server {only}"
    assert servers(open_case(snapshot_with(""))) == "--bootstrap-server HOST:PORT"


def test_a_name_and_a_given_zookeeper_are_repeated() -> None:
    snapshot = snapshot_with("one:9092")
    named = replace(snapshot, reached_by=ReachedBy(profile="orders eu", command_config="its own"))
    assert cluster_options(open_case(named)) == "-c 'orders eu'"
    assert servers(open_case(named)) == "--bootstrap-server one:9092 --command-config 'its own'"
    besides = ReachedBy(profile="orders", besides=("--zookeeper", "a b:2181"))
    assert cluster_options(open_case(replace(snapshot, reached_by=besides))) == "-c orders --zookeeper 'a b:2181'"
    given = replace(snapshot, reached_by=ReachedBy(zookeeper="zk1:2181,zk2:2181/kafka"))
    assert cluster_options(open_case(given)) == "--bootstrap-server one:9092 --zookeeper zk1:2181,zk2:2181/kafka"


def test_controllers_that_were_given_are_repeated() -> None:
    asked = make_target("one:9092", None, controllers="c1:9093, c2:9093")
    snapshot = replace(snapshot_with("one:9092"), reached_by=asked.reached_by)
    words = "--bootstrap-server one:9092 --bootstrap-controller c1:9093,c2:9093"
    assert cluster_options(open_case(snapshot)) == words
    commands = [r.command for f in diagnose(snapshot).walk() for r in f.remedies if r.command.startswith("kfix ")]
    assert commands
    assert all(words in command for command in commands)


def test_a_forecast_names_the_cluster_as_a_diagnosis_does() -> None:
    paper = offsets_rf1().snapshot()
    identity = replace(paper.cluster, bootstrap="one:9092")
    snapshot = replace(paper, cluster=identity, reached_by=ReachedBy(command_config="its own"))
    found = forecast_of(snapshot, "broker=2")
    commands = {remedy.command for failure in found.failures for remedy in remedies_of(found, failure)}
    at_the_cluster = {command for command in commands if "one:9092" in command}
    assert at_the_cluster
    assert all(command.endswith("--command-config 'its own'") for command in at_the_cluster)
    named = forecast_of(replace(snapshot, reached_by=ReachedBy(profile="orders")), "broker=2")
    assert all("one:9092" not in r.command for f in named.failures for r in remedies_of(named, f))
