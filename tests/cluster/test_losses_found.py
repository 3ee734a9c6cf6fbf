"""The incidents that lose records, on real brokers: the next audit finds what is gone, and nothing that was deleted."""

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import LabSpec
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.waiting import wait_until

LINES = {
    "2.7.1": LabSpec(name="ledger", kafka="2.7.1"),
    "4.3.1": LabSpec(name="ledger", kafka="4.3.1", offsets_rf=3),
}
own, lab = lab_of_its_own(lambda line: WatchedLab.up(LINES[line]), mends=True, params=LINES)

FLEET = """
apiVersion: kfix/v1
kind: Fleet
defaults: {{restart_grace: 0s}}
clusters:
  orders: {{bootstrap: "{servers}"}}
"""


def records(count):
    return [(f"k{n}", b"acknowledged") for n in range(count)]


@pytest.mark.parametrize("incident", ["unclean-loss", "power-failure"])
def test_the_next_audit_finds_the_lost_records_and_no_others(kfix, lab, cluster, tmp_path, incident):
    if incident == "power-failure" and lab.status().mode == "kraft":
        return  # The controllers of KRaft outlive its brokers.
    fleet, store, access = tmp_path / "fleet.yaml", tmp_path / "store", cluster.access
    fleet.write_text(FLEET.format(servers=lab.bootstrap_servers))
    for topic in ("again", "gone"):
        access.create_topic(topic, [[1, 2, 3]], {})
        access.produce(topic, {0: records(20)}, acks="all")
    broken = lab.break_(incident)
    [where], details = broken.partitions, broken.details
    known = kfix.run("fleet", "import", f"orders={details['before']}", "-i", fleet, "--store", store)
    assert known.code == 0, known.out + known.err
    for topic in ("again", "gone"):
        access.delete_topic(topic)
    wait_until(lambda: not {"again", "gone"} & {*access.topics()}, "both topics are deleted", 60)
    access.create_topic("again", [[1, 2, 3]], {})
    access.produce("again", {0: records(3)}, acks="all")
    access.produce(where[0], {where[1]: records(100)}, acks="all")

    night = kfix.run("audit", "-i", fleet, "--store", store, "--run", "two", "--fail-on", "never", timeout=120)
    assert night.code == 0, night.out + night.err
    told = kfix.run("audit", "query", "--ask", "lost-records", "--store", store, "--json")
    assert told.code == 0, told.out + told.err
    [row] = told.json["rows"]
    assert TopicPartition(row["topic"], row["partition"]) == TopicPartition(*where)
    assert (row["offsets"], row["committed"]) == (details["lost"], details["committed"])
    assert (row["how"], row["leader"]) == ("another epoch begins earlier", details["new_leader"])
    assert row["same_topic"] == "yes"
