"""`kfix whatif` on real brokers: what it forecasts, written down first, is what the brokers' deaths do.

A slice of `make oracle` (tests/proofs/oracle), on the cluster that all these tests share.
"""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from tests.proofs.oracle.trials import Oracle
from tests.waiting import wait_until


@pytest.mark.parametrize("seed", [11, 12, 13, 14])
def test_deaths_end_as_they_were_forecast(lab, cluster, seed):
    lab.break_("healthy")
    try:
        oracle = Oracle(lab, cluster.access, seed)
        oracle.round(0, steps=2)
    finally:
        lab.mend()
    assert oracle.tally.differences == []
    assert oracle.tally.trials > 0  # one, where the first failure takes two of the three brokers


def test_the_command_names_what_a_death_then_stops(lab, kfix, cluster):
    lab.break_("healthy")
    first, second, third = lab.broker_ids
    cluster.access.create_topic("alone", [[first], [third]], {})
    cluster.access.create_topic("pairs", [[second, first], [second, third]], {"min.insync.replicas": "2"})

    said = kfix.on("whatif", "--json", "--down", f"broker={first}")
    [one] = said.json["failures"]
    changed = {p["partition"]: p for p in one["partitions"]}
    assert (said.code, one["stops"]) == (21, 1)
    assert changed["alone-0"]["fate"] == "stops"
    assert changed["pairs-0"]["falls_under"] is True
    assert changed.keys().isdisjoint({"alone-1", "pairs-1"})
    assert one["controller_moves"] == (cluster.access.controller() == first)
    foretold = {p: (each["leader"], each["isr"]) for p, each in changed.items()}

    lab.kill(first)
    for name, (leader, isr) in foretold.items():
        topic, _, number = name.rpartition("-")

        def as_foretold(topic=topic, partition=int(number), leader=leader, isr=isr):
            state, live = cluster.access.state(topic, partition), cluster.access.live_ids()
            return (state.leader, sorted(set(state.isr) & live)) == (leader, isr)

        wait_until(as_foretold, f"{name} has leader {leader} and ISR {isr}")
    assert cluster.access.produce_error("pairs", 0, "all") in {
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    }
    assert not one["groups"]
    assert all(cluster.access.state(OFFSETS_TOPIC, p).leader != -1 for p in range(5))


def test_the_overview_of_a_healthy_cluster_reads_only(lab, kfix, cluster):
    lab.break_("healthy")
    before = cluster.picture()
    said = kfix.on("whatif")
    assert said.code == 20, said.out
    assert "would stop" in said.out
    assert cluster.picture() == before
    wrong = kfix.on("whatif", "--down", "broker=99")
    assert wrong.code == 2
    assert "broker 99 does not exist; alive: brokers" in wrong.err
