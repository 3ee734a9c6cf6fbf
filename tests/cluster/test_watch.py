"""`kfix watch` on real brokers: a fault that comes and goes, a cluster that vanishes, and the story told afterwards."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.cluster.watched import inbox, metrics, posting_to, watching


@contextmanager
def frozen(lab):
    for broker in lab.broker_ids:
        lab.stop(broker)
    lab.stop(1, "zookeeper")
    try:
        yield
    finally:
        lab.cont(1, "zookeeper")
        for broker in lab.broker_ids:
            lab.cont(broker)


def now():
    """The time of day, as the events of a report have it."""
    return datetime.now(UTC).timestamp()


def test_a_fault_a_vanished_cluster_and_the_post_mortem_from_the_ring_alone(kfix, lab, tmp_path):
    ring = tmp_path / "ring"
    with inbox() as (url, notices):
        options = ("--recorder", ring, "--notify", posting_to(tmp_path, url), "--exporter", ":0")
        with watching(kfix, tmp_path, *options) as watch:
            at = watch.says(": healthy")
            began = now()
            broken = lab.break_("coordinator-stuck")
            at = watch.says("new critical KFX101", f"{broken.partitions[0]}", after=at)
            values = metrics(watch)
            assert values["kfix_watch_up"] == 1
            assert values["kfix_watch_blocked_groups"] >= 1
            lab.mend()
            at = watch.says("fixed KFX101", after=at)
            at = watch.says(": healthy", after=at)
            healed = now()
            with frozen(lab):
                at = watch.says("lost the cluster", after=at)
                assert metrics(watch)["kfix_watch_up"] == 0
            at = watch.says("the cluster answers again", after=at)
            at = watch.says(": healthy", after=at)
            second = kfix.on("watch", "--recorder", ring, "--snapshots", "1")
            assert second.code == 9
            assert f"another watch records there (process {watch.process.pid})" in second.err
            assert watch.ends() == 0
            assert "Traceback" not in watch.text
        stuck = [n["kind"] for n in notices if n["key"] == f"KFX101:{broken.partitions[0]}"]
        assert stuck == ["new", "fixed"]
        [new] = [n for n in notices if n["kind"] == "new" and n["code"] == "KFX101"]
        assert broken.group in new["blocked"]
        assert new["next"].startswith("kfix runbook")
        assert [n["kind"] for n in notices if n["key"] == "unreachable"] == ["lost", "back"]

    told = kfix.run("report", "incident", "--recorder", ring, "--json")
    assert told.code == 0, told.err
    report = told.json
    summary = report["summary"]
    partition = [broken.partitions[0].topic, broken.partitions[0].partition]
    assert summary["verdict"] == "resolved"
    first, noticed = (datetime.fromisoformat(summary[name]["at"]).timestamp() for name in ("began", "noticed"))
    assert began - 2 <= first <= noticed < healed
    assert partition in summary["partitions"]
    assert broken.group in summary["groups"]
    assert "KFX101" in [c["code"] for c in report["causes"] if c["severity"] == "critical"]
    texts = [e["text"] for e in report["events"]]
    assert any(e["text"].startswith("lost its leader") and partition in e["partitions"] for e in report["events"])
    assert any(t.startswith("the watch lost the cluster") for t in texts)
    again = kfix.run("watch", "--from-recorder", ring, "--every", "2", "--debounce", "3", "--restart-grace", "0")
    assert "new critical KFX101" in again.out
    assert "fixed KFX101" in again.out


@pytest.mark.parametrize("number", [0, 1])
def test_a_kill_leaves_a_recording_that_is_whole(kfix, lab, tmp_path, number):
    ring = tmp_path / "ring"
    with watching(kfix, tmp_path, "--recorder", ring, "--every", "1") as watch:
        watch.says(": healthy")
        time.sleep(3.1 + number / 3)
        watch.process.kill()
        watch.process.wait()
    before = kfix.run("watch", "--from-recorder", ring)
    assert before.code == 0, before.err
    again = kfix.on("watch", "--recorder", ring, "--snapshots", "2", "--every", "1")
    assert again.code == 0, again.err
    report = kfix.run("report", "incident", "--recorder", ring, "--json").json
    assert report["summary"]["verdict"] == "no findings in any snapshot"
    assert not [p for s in report["sources"] for p in s["problems"]]
