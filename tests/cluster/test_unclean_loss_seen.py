"""An unclean election loses acknowledged records: every command that knows an earlier snapshot says so (KFX809)."""

import json

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import LabSpec
from tests.cluster.conftest import Kfix, WatchedLab, lab_of_its_own
from tests.waiting import wait_until

LINES = {
    "2.7.1": LabSpec(name="loss", kafka="2.7.1"),
    "4.3.1": LabSpec(name="loss", kafka="4.3.1", offsets_rf=3),
}

own, lab = lab_of_its_own(lambda line: WatchedLab.up(LINES[line]), mends=True, params=LINES)

FLEET = """
apiVersion: kfix/v1
kind: Fleet
defaults: {{restart_grace: 0s}}
clusters:
  orders: {{bootstrap: "{servers}"}}
"""


def elected_uncleanly(cluster, where):
    cluster.access.elect([where], unclean=True)
    wait_until(lambda: all(leader >= 0 for leader, _ in cluster.views(where)), "it has a leader")
    [leader] = {leader for leader, _ in cluster.views(where)}
    return leader


def shown(said):
    assert said.code == 21, said.out + said.err
    return said.findings["KFX809"]


def test_a_waiting_partition_that_another_replica_leads_afterwards_is_a_loss_for_every_command(
    kfix, lab, cluster, tmp_path
):
    before, fleet, store = tmp_path / "before.json.gz", tmp_path / "fleet.yaml", tmp_path / "store"
    fleet.write_text(FLEET.format(servers=lab.bootstrap_servers))
    broken = lab.break_("isr-gone")
    [where], [dead] = broken.partitions, broken.dead
    waiting = kfix.diagnose()
    assert waiting.code == 21, waiting.out + waiting.err
    assert "KFX809" not in waiting.findings
    kfix.on("snapshot", "save", before)
    nights = ("audit", "-i", fleet, "--store", store, "--json")
    kfix.run(*nights, "--run", "one", timeout=120)

    leader = elected_uncleanly(cluster, TopicPartition(*where))
    found = shown(kfix.diagnose())
    assert found["facts"]["holders"] == [dead]
    assert f"led by broker {leader}" in found["summary"]
    assert "copy its disk" in found["remedies"][0]["text"]
    text = kfix.on("diagnose").out
    assert "no alarm" not in text
    assert f"Keep broker {dead} down and copy its disk" in text
    assert "Wait until it is back" not in text

    watch = kfix.on("watch", "--snapshots", "1", "--every", "1")
    assert (watch.code, "KFX809" in watch.out) == (21, True), watch.out + watch.err
    night = kfix.run(*nights, "--run", "two", timeout=120)
    assert "KFX809" in [f["code"] for f in night.json["findings"]], night.out + night.err

    other = Kfix(lab, tmp_path / "other")
    assert "KFX809" not in other.diagnose().findings, "this state folder has no earlier snapshot"
    assert shown(other.diagnose("--before", before))["facts"]["holders"] == [dead]

    lab.restart(dead)
    kfix.until(lambda said: "KFX809" not in said.findings, "its disk has nothing any more")


def test_the_log_end_of_an_earlier_snapshot_shows_how_many_records_are_lost(kfix, lab, cluster):
    told = lab.break_("replica-lagging").details
    late, leader = told["lagging"], told["leader"]
    [third] = set(lab.broker_ids) - {late, leader}
    where = TopicPartition("ledger", 0)
    lab.kill(third)
    wait_until(lambda: set(cluster.access.states()[tuple(where)].isr) == {leader}, "only the leader is in sync", 40)
    cluster.access.produce("ledger", {0: [(f"k{n}", b"acknowledged") for n in range(50)]}, acks="all")
    kfix.diagnose()
    end, kept = cluster.end(leader, where).offset, cluster.end(late, where).offset
    assert end - kept >= 50
    lab.kill(leader)
    wait_until(lambda: {each for each, _ in cluster.views(where)} == {-1}, "it waits", 40)
    assert elected_uncleanly(cluster, where) == late
    found = shown(kfix.diagnose())
    assert found["facts"]["holders"] == [leader]
    assert found["facts"]["committed"] == end - kept
    assert f"lost at least {end - kept} records" in found["summary"]
    assert json.dumps(found["remedies"]).count("copy its disk") == 1
