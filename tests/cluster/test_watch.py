"""`kfix watch` on real brokers: a fault that comes and goes, a cluster that vanishes, and the story told afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.conftest import KFIX
from tests.cluster.seen import wait_until

LONG = 90


class Watching:
    """A watch that runs; what it has printed so far is in `text`."""

    def __init__(self, process, file):
        self.process, self._file = process, file

    @property
    def text(self):
        return self._file.read_text()

    def says(self, *parts, after=0, seconds=LONG):
        """Waits for a line with all parts behind the character `after`; returns where the next line begins."""

        def end():
            assert self.process.poll() is None, self.text
            at = after
            for line in self.text[after:].splitlines(keepends=True):
                at += len(line)
                if all(part in line for part in parts):
                    return at
            return 0

        wait_until(end, f"{parts} behind {self.text[after:]!r}", seconds)
        return end()

    def ends(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextmanager
def watching(kfix, folder, *args) -> Iterator[Watching]:
    file = folder / "watch.txt"
    env = os.environ | {"KFIX_STATE_HOME": str(kfix.home), "NO_COLOR": "1", "COLUMNS": "200"}
    address = ("--bootstrap-server", kfix.lab.bootstrap_servers)
    quick = ("--every", "2", "--debounce", "3", "--restart-grace", "0", "--timeout", "3")
    command = [KFIX, "watch", *address, *quick, *map(str, args)]
    with file.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    try:
        yield Watching(process, file)
    finally:
        process.kill()
        process.wait()


@contextmanager
def inbox():
    found = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            found.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["notices"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", found
    server.shutdown()
    server.server_close()


def metrics(watch):
    [line] = [line for line in watch.text.splitlines() if "metrics: " in line]
    with urllib.request.urlopen(line.split("metrics: ")[1].strip(), timeout=5) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {s.name: s.value for f in families for s in f.samples}


@contextmanager
def frozen(lab):
    for broker in lab.broker_ids:
        lab.stop(broker)
    lab.stop_zookeeper(1)
    try:
        yield
    finally:
        lab.cont_zookeeper(1)
        for broker in lab.broker_ids:
            lab.cont(broker)


def test_a_fault_a_vanished_cluster_and_the_post_mortem_from_the_ring_alone(kfix, lab, tmp_path):
    ring, receivers = tmp_path / "ring", tmp_path / "notify.yaml"
    with inbox() as (url, notices):
        receivers.write_text(
            f"apiVersion: kfix/v1\nkind: Notifications\nreceivers:\n  - type: webhook\n    url: {url}/kfix\n"
        )
        options = ("--recorder", ring, "--notify", receivers, "--exporter", ":0")
        with watching(kfix, tmp_path, *options) as watch:
            at = watch.says(": healthy")
            began = time.time()
            broken = lab.break_("coordinator-stuck")
            at = watch.says("new critical KFX101", f"{broken.partitions[0]}", after=at)
            values = metrics(watch)
            assert values["kfix_watch_up"] == 1
            assert values["kfix_watch_blocked_groups"] >= 1
            lab.mend()
            at = watch.says("fixed KFX101", after=at)
            at = watch.says(": healthy", after=at)
            healed = time.time()
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
    assert began - 2 <= summary["began"]["at"] <= summary["noticed"]["at"] < healed
    assert partition in summary["partitions"]
    assert broken.group in summary["groups"]
    assert "KFX101" in [c["code"] for c in report["causes"] if c["severity"] == "critical"]
    texts = [e["text"] for e in report["events"]]
    assert any(e["text"].startswith("lost its leader") and partition in e["partitions"] for e in report["events"])
    assert any(t.startswith("the watch lost the cluster") for t in texts)
    again = kfix.run("watch", "--from-recorder", ring, "--every", "2", "--debounce", "3", "--restart-grace", "0")
    assert "new critical KFX101" in again.out
    assert "fixed KFX101" in again.out


def test_until_healthy_waits_for_the_end_of_an_incident(kfix, lab, tmp_path):
    lab.break_("coordinator-stuck")
    short = kfix.on("watch", "--until", "healthy", "--within", "6", "--every", "2", "--debounce", "3")
    assert short.code == 21, short.out
    with watching(kfix, tmp_path, "--until", "healthy") as watch:
        watch.says("new critical KFX101")
        lab.mend()
        assert watch.process.wait(LONG) == 0
        assert watch.text.rstrip().endswith(": healthy")


@pytest.mark.parametrize("number", range(2))
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
