"""The post-mortem of a real incident: looks before, during and after, the run that healed it, the brokers' own logs."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kfix.lab.definition.store import Store
from tests.cluster.remedy import operating
from tests.cluster.seen import wait_until

#: Java writes logs in the machine's own zone.
_LOCAL = str(Path("/etc/localtime").resolve()).rpartition("/zoneinfo/")[2]
ZONE = ("--log-timezone", _LOCAL if "zoneinfo" in str(Path("/etc/localtime").resolve()) else "UTC")


@pytest.fixture(scope="module")
def incident(shared_lab, tmp_path_factory):
    """Files of the founding incident, made once: (folder with looks, run's folder, folder with logs, broken)."""
    lab, folder = shared_lab, tmp_path_factory.mktemp("incident")
    if lab.status().incident is not None or any(p.condition != "alive" for p in lab.status().processes):
        lab.mend()
    looks = folder / "looks"
    looks.mkdir()
    with operating(lab, folder) as operator:

        def look(name):
            operator.on("snapshot", "save", looks / f"{name}.json.gz", timeout=60)

        look("00-before")
        broken = lab.break_("coordinator-stuck")
        look("10-broken")
        operator.diagnose()
        plan = operator.folder / "plan.json"
        said = operator.on("runbook", "plan", "coordinator-stuck", "-o", plan)
        assert said.code == 0, said.err
        look("20-still-broken")
        approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
        healed = operator.on("runbook", "apply", "--plan", plan, "--approve", approval)
        assert healed.code == 0, healed.err
        look("30-healed")
        lab.restart(*broken.dead)
        wait_until(lambda: operator.on("diagnose", "--restart-grace", "0").code == 0, "the cluster is whole", 60)
        look("40-whole")
        [run] = sorted((operator.home / "kfix" / "runs").iterdir())
    yield looks, run, Store(lab.name).dir / "logs", broken
    lab.mend()


def reported(kfix, *args):
    said = kfix.run("report", "incident", *args, "--json")
    assert said.code == 0, said.err
    return said.json


def test_it_names_beginning_cause_run_and_end(kfix, incident):
    looks, run, _, broken = incident
    told = reported(kfix, "--from", looks, "--journal", run)
    partition = [broken.partitions[0].topic, broken.partitions[0].partition]
    summary = told["summary"]
    assert summary["verdict"] == "over"
    assert summary["began"]["at"] <= summary["noticed"]["at"] < summary["served"]["at"] < summary["whole"]["at"]
    assert partition in summary["partitions"]
    assert broken.group in summary["groups"]
    assert told["causes"][0]["code"] == "KFX101"
    assert told["runs"][0]["outcome"] == "proved"
    texts = [e["text"] for e in told["events"] if partition in e["partitions"]]
    assert any(t.startswith("lost its leader") for t in texts), texts
    assert any(t.startswith("got a leader") for t in texts), texts
    [lane] = [lane for lane in told["picture"]["partitions"] if partition in lane["partitions"]]
    assert any(s["value"] == -1 and s["proof"] == "known" for s in lane["spans"])


def test_the_brokers_own_logs_say_the_same_and_more(kfix, incident):
    looks, run, logs, broken = incident
    told = reported(kfix, "--from", looks, "--journal", run, "--broker-log", logs, *ZONE)
    partition = [broken.partitions[0].topic, broken.partitions[0].partition]
    lost = [e for e in told["events"] if e["text"].startswith("lost its leader") and partition in e["partitions"]]
    # The logs reach back to the tests before, on the same cluster: the last one is this incident.
    assert lost
    assert lost[-1]["not_before"] is None
    assert any(s.startswith("broker-") for s in lost[-1]["sources"])
    assert any(s.startswith("look ") for s in lost[-1]["sources"])
    assert any("was told of no leader" in e["text"] for e in told["events"])
    assert any(f"broker {broken.dead[0]} vanished" in e["text"] for e in told["events"])
    assert any(f"broker {broken.dead[0]} started" in e["text"] for e in told["events"])
    read = [s for s in told["sources"] if s["kind"] == "log"]
    assert len(read) >= 3
    assert not any("could not be read" in t for s in read for t in s["trouble"])


def test_page_and_text_are_written_and_nothing_else_is(kfix, incident, tmp_path):
    looks, run, logs, _ = incident
    before = {p: p.stat().st_mtime_ns for folder in (looks, run) for p in folder.iterdir()}
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    args = ("--from", looks, "--journal", run, "--broker-log", logs, *ZONE, "--html", page, "--markdown", text)
    said = kfix.run("report", "incident", *args, "--title", "Payments stood still")
    assert said.code == 0, said.err
    assert "Served again" in said.out
    assert "Payments stood still" in page.read_text()
    assert "# Payments stood still" in text.read_text()
    assert page.stat().st_size < 1_000_000
    assert {p: p.stat().st_mtime_ns for folder in (looks, run) for p in folder.iterdir()} == before


def test_a_frozen_controller_is_told_from_its_log(kfix, lab, tmp_path):
    """Session expiry, election, resignation: wordings that only a broker that lost ZooKeeper writes."""
    logs = Store(lab.name).dir / "logs"
    since = datetime.fromtimestamp(time.time() - 1, UTC).isoformat()
    kfix.on("snapshot", "save", tmp_path / "a.json")
    first = json.loads((tmp_path / "a.json").read_text())["zookeeper"]["controller"]["broker"]
    lab.stop(first)
    try:
        wait_until(lambda: _controller(kfix, tmp_path) not in {None, first}, "another controller", 60)
    finally:
        lab.cont(first)
    wait_until(lambda: kfix.on("diagnose", "--restart-grace", "0").code == 0, "the cluster is whole", 60)
    kfix.on("snapshot", "save", tmp_path / "z.json")
    looks = ("--from", tmp_path / "a.json", "--from", tmp_path / "z.json")
    told = reported(kfix, *looks, "--broker-log", logs, "--since", since, *ZONE)
    texts = " | ".join(e["text"] for e in told["events"])
    assert "became the controller" in texts
    assert f"broker {first} lost its session with ZooKeeper" in texts
    assert f"broker {first} resigned as controller" in texts
    assert re.search(rf"broker {first} registered", texts)
    values = [s["value"] for s in told["picture"]["controller"]["spans"] if s["proof"] == "known"]
    assert values[0] == first
    assert values[-1] != first


def _controller(kfix, folder):
    look = folder / f"look-{time.monotonic_ns()}.json"
    kfix.on("snapshot", "save", look)
    return json.loads(look.read_text())["zookeeper"]["controller"]["broker"] if look.exists() else None
