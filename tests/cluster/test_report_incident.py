"""The post-mortem of a real incident: snapshots before, during and after, the run that healed it, the brokers' own
logs.
"""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kfix.lab.definition.store import Store
from tests.cluster.conftest import is_whole
from tests.cluster.remedy import operating
from tests.waiting import wait_until

#: Java writes logs in the machine's own zone.
_LOCAL = str(Path("/etc/localtime").resolve()).rpartition("/zoneinfo/")[2]
ZONE = ("--log-timezone", _LOCAL if "zoneinfo" in str(Path("/etc/localtime").resolve()) else "UTC")


@pytest.fixture(scope="module")
def incident(shared_lab, tmp_path_factory):
    """Files of the founding incident, made once: (folder with snapshots, run's folder, folder with logs, broken)."""
    lab, folder = shared_lab, tmp_path_factory.mktemp("incident")
    if not is_whole(lab):
        lab.mend()
    snapshots = folder / "snapshots"
    snapshots.mkdir()
    with operating(lab, folder) as operator:

        def snapshot(name):
            operator.on("snapshot", "save", snapshots / f"{name}.json.gz", timeout=60)

        snapshot("00-before")
        broken = lab.break_("coordinator-stuck")
        snapshot("10-broken")
        operator.diagnose()
        plan = operator.folder / "plan.json"
        result = operator.on("runbook", "plan", "coordinator-stuck", "--output-file", plan)
        assert result.code == 0, result.err
        snapshot("20-still-broken")
        approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
        healed = operator.on("runbook", "apply", "--plan", plan, "--approve", approval)
        assert healed.code == 0, healed.err
        snapshot("30-healed")
        lab.restart(*broken.dead)
        operator.until(lambda said: said.code == 0, "the cluster is whole", within=60)
        snapshot("40-whole")
        [run] = sorted((operator.home / "kfix" / "runs").iterdir())
    yield snapshots, run, Store(lab.name).dir / "logs", broken
    lab.mend()


def reported(kfix, *args):
    result = kfix.run("report", "incident", *args, "--json")
    assert result.code == 0, result.err
    return result.json


def test_it_names_beginning_cause_run_and_end(kfix, incident):
    snapshots, run, _, broken = incident
    report = reported(kfix, "--from", snapshots, "--journal", run)
    partition = [broken.partitions[0].topic, broken.partitions[0].partition]
    summary = report["summary"]
    assert summary["verdict"] == "resolved"
    assert summary["began"]["at"] <= summary["noticed"]["at"] < summary["restored"]["at"] < summary["recovered"]["at"]
    assert partition in summary["partitions"]
    assert broken.group in summary["groups"]
    assert report["causes"][0]["code"] == "KFX101"
    assert report["runs"][0]["outcome"] == "proved"
    texts = [e["text"] for e in report["events"] if partition in e["partitions"]]
    assert any(t.startswith("lost its leader") for t in texts), texts
    assert any(t.startswith("got a leader") for t in texts), texts
    [lane] = [lane for lane in report["picture"]["partitions"] if partition in lane["partitions"]]
    assert any(s["value"] == -1 and s["proof"] == "known" for s in lane["spans"])


def test_the_brokers_own_logs_show_the_same_and_more(kfix, incident):
    snapshots, run, logs, broken = incident
    report = reported(kfix, "--from", snapshots, "--journal", run, "--broker-log", logs, *ZONE)
    partition = [broken.partitions[0].topic, broken.partitions[0].partition]
    lost = [e for e in report["events"] if e["text"].startswith("lost its leader") and partition in e["partitions"]]
    # The logs reach back to the tests before, on the same cluster: the last one is this incident.
    assert lost
    assert lost[-1]["not_before"] is None
    assert any(s.startswith("broker-") for s in lost[-1]["sources"])
    # On a busy machine a snapshot is taken long after the brokers wrote their lines, and shows it by itself.
    seen = [source for event in report["events"] if partition in event["partitions"] for source in event["sources"]]
    assert any(source.startswith("snapshot ") for source in seen), seen
    assert any("received a state without a leader" in e["text"] for e in report["events"])
    assert any(f"broker {broken.dead[0]} is no longer registered" in e["text"] for e in report["events"])
    assert any(f"broker {broken.dead[0]} started" in e["text"] for e in report["events"])
    read = [s for s in report["sources"] if s["kind"] == "log"]
    assert len(read) >= 3
    assert not any("could not be read" in t for s in read for t in s["problems"])


def test_a_frozen_controller_is_reported_from_its_log(kfix, lab, tmp_path):
    """Session expiry, election, resignation: wordings that only a broker that lost ZooKeeper writes."""
    logs = Store(lab.name).dir / "logs"
    since = datetime.fromtimestamp(time.time() - 1, UTC).isoformat()
    kfix.on("snapshot", "save", tmp_path / "a.json")
    first = json.loads((tmp_path / "a.json").read_text())["zookeeper"]["controller"]["broker"]
    lab.stop(first)
    try:
        with lab.access() as access:
            wait_until(lambda: access.controller() not in {None, first}, "another controller", 60)
    finally:
        lab.cont(first)
    kfix.until(lambda said: said.code == 0, "the cluster is whole", within=60)
    kfix.on("snapshot", "save", tmp_path / "z.json")
    snapshots = ("--from", tmp_path / "a.json", "--from", tmp_path / "z.json")
    report = reported(kfix, *snapshots, "--broker-log", logs, "--since", since, *ZONE)
    texts = " | ".join(e["text"] for e in report["events"])
    assert "became the controller" in texts
    assert f"broker {first} lost its ZooKeeper session" in texts
    assert f"broker {first} resigned as controller" in texts
    assert re.search(rf"broker {first} re-registered", texts)
    values = [s["value"] for s in report["picture"]["controller"]["spans"] if s["proof"] == "known"]
    assert values[0] == first
    assert values[-1] != first
