"""Collecting by real sockets on loopback: what refuses, hangs, trickles or talks nonsense is a row, with its reason."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pexpect
import pytest

from kfix.core.errors import StoreError, UnreachableError
from kfix.core.inventory.load import load_inventory
from kfix.core.inventory.model import ClusterEntry
from kfix.diagnose.snapshots import read_entry
from kfix.fleet.collect.cluster import collect_one
from kfix.fleet.collect.run import Collection
from kfix.fleet.store.places import place_of, run_place
from kfix.fleet.store.runs import runs
from kfix.fleet.store.staging import RunWriter
from tests.listening import hangs, listening
from tests.proofs.fleet.test_collecting import DAY
from tests.unit.core.fake_broker import FakeBroker
from tests.unit.diagnostics.clusters import base
from tests.waiting import seconds


def garbage(line):
    line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20)
    line.close()


def trickles(line):
    # A long answer, a byte at a time: every read succeeds, the whole never does.
    line.sendall(b"\0\0\7\xd0")
    with contextlib.suppress(OSError):
        for _ in range(400):
            line.sendall(b"\0")
            time.sleep(0.1)


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def weather():
    with contextlib.ExitStack() as stack:
        ends = {n: stack.enter_context(listening(a)) for n, a in
                {"hangs": hangs, "garbage": garbage, "trickles": trickles}.items()}  # fmt: skip
        # Connections wait in its backlog forever: nobody accepts.
        deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        found = {n: f"{e.host}:{e.port}" for n, e in ends.items()}
        yield {**found, "deaf": f"127.0.0.1:{deaf.getsockname()[1]}", "closed": f"127.0.0.1:{closed_port()}"}


@pytest.fixture
def inventory(weather, tmp_path):
    tls = tmp_path / "tls.properties"
    tls.write_text("security.protocol=SSL\n")
    lines = [f"  {name}: {{bootstrap: '{where}'}}" for name, where in weather.items()]
    lines += [
        f"  handshake: {{bootstrap: '{weather['deaf']}', command_config: {tls}}}",
        "  unresolved: {bootstrap: 'nowhere.invalid:9092'}",
        f"  zookeeper: {{zookeeper: '{weather['hangs']}'}}",
    ]
    path = tmp_path / "fleet.yaml"
    path.write_text("apiVersion: kfix/v1\nkind: Fleet\ndefaults: {timeout: 2s}\nclusters:\n" + "\n".join(lines) + "\n")
    return path


def test_network_faults_become_rows_and_delay_no_other_cluster(inventory, tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path / "state"))
    collection = Collection(tmp_path / "store", load_inventory(inventory), DAY, "r")
    slow = {"hangs", "trickles", "deaf", "handshake", "zookeeper"}
    together = threading.Barrier(len(slow))

    def read(entry):
        """Those that hang begin when all of them have been asked: none waits for another one's deadline."""
        if entry.name in slow:
            together.wait(seconds(30))
        return read_entry(entry)

    done = {d.name: d for d in collection.results(read)}
    assert not [d for d in done.values() if d.result]
    run = collection.finish()
    assert "connection refused" in run.failed["closed"]
    assert "cannot be resolved" in run.failed["unresolved"]
    assert "does not speak the Kafka protocol" in run.failed["garbage"]
    for name in ("hangs", "deaf", "handshake", "trickles", "zookeeper"):
        assert "in time" in run.failed[name] or "timed out" in run.failed[name], (name, run.failed[name])
    assert all("\n" not in why for why in run.failed.values())
    assert runs(place_of(tmp_path / "store")) == (run,)


def test_a_name_server_that_never_answers_is_left_behind(tmp_path, monkeypatch):
    """Here the resolver itself is replaced: no test may choose the machine's name server."""
    gate = threading.Event()
    real = socket.getaddrinfo

    def resolve(host, *args, **kw):
        if host == "slow.invalid":
            gate.wait(seconds(30))
        return real(host, *args, **kw)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path / "state"))
    with FakeBroker({}).listening() as end:
        path = tmp_path / "fleet.yaml"
        path.write_text(
            "apiVersion: kfix/v1\nkind: Fleet\ndefaults: {timeout: 1s}\nclusters:\n"
            f"  slow: {{bootstrap: 'slow.invalid:9092'}}\n  quick: {{bootstrap: '127.0.0.1:{closed_port()}'}}\n"
            f"  there: {{bootstrap: '{end}'}}\n"
        )
        collection = Collection(tmp_path / "store", load_inventory(path), DAY, "r")
        done = [d.name for d in collection.results(read_entry)]
    gate.set()
    assert done[-1] == "slow"
    assert "in time" in collection.finish().failed["slow"]


def test_collect_one_writes_into_the_run_and_the_parent_counts_it(tmp_path, monkeypatch):
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    with pytest.raises(UnreachableError, match="connection refused"):
        collect_one(ClusterEntry("a", f"127.0.0.1:{closed_port()}", timeout=2.0), str(writer.place))
    monkeypatch.setattr("kfix.core.collect.collector.collect", lambda *_: base().snapshot())
    one = collect_one(ClusterEntry("b", "h:1"), str(writer.place))
    assert (one.name, one.partitions) == ("b", 62)
    assert dict(writer.finish().clusters) == {"b": 62}
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        collect_one(ClusterEntry("b", "h:1"), str(run_place(place_of(tmp_path / "file"), DAY, "r")))


def kfix(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "kfix", "fleet", *map(str, args)],
        capture_output=True, text=True, check=False, timeout=seconds(120), env={**os.environ, "NO_COLOR": "1", **env},
    )  # fmt: skip


def test_the_command_shows_the_result(inventory, tmp_path):
    env = {"KFIX_STATE_HOME": str(tmp_path), "KFIX_STORE": str(tmp_path / "s"), "KFIX_FLEET": str(inventory)}
    some = ("--cluster", "closed", "--cluster", "unresolved")
    done = kfix("collect", *some, "--run", "one", "--date", "2026-03-01", **env)
    assert done.returncode == 22, done.stderr
    assert "collected 0 of 2 clusters" in done.stdout
    assert "not collected: closed: the cluster cannot be reached" in done.stdout
    assert "unresolved: the cluster cannot be reached" in done.stderr
    assert f"run one of 2026-03-01: {tmp_path / 's'}\n" in done.stdout
    quiet = kfix("collect", *some, "--quiet", "--json", "--run", "two", "--date", "2026-03-01", **env)
    assert quiet.returncode == 22
    assert quiet.stderr == f"warning: the inventory {inventory} (KFIX_FLEET)\n"
    assert set(json.loads(quiet.stdout)["failed"]) == {"closed", "unresolved"}
    again = kfix("collect", *some, "--run", "one", "--date", "2026-03-01", **env)
    assert (again.returncode, again.stdout) == (2, "")
    assert "is complete" in again.stderr
    listed = json.loads(kfix("runs", "--json", **env).stdout)
    assert [(r["run"], r["state"], r["failed"]) for r in listed] == [("one", "complete", 2), ("two", "complete", 2)]


def test_ctrl_c_leaves_a_run_that_can_be_resumed(inventory, tmp_path):
    env = {**os.environ, "KFIX_STATE_HOME": str(tmp_path), "NO_COLOR": "1"}
    command = [
        sys.executable,
        "-m",
        "kfix",
        "fleet",
        "collect",
        "-i",
        inventory,
        "--store",
        tmp_path / "s",
        "--run",
        "r",
    ]
    with subprocess.Popen(
        [*map(str, command), "--timeout", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        # The first failure is shown: it is under way.
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=seconds(60))
    assert process.returncode == 130, first + err
    assert "continue it with --run r --date" in err
    assert "Traceback" not in err + out
    assert runs(place_of(tmp_path / "s")) == ()
    listed = kfix("runs", "--store", tmp_path / "s")
    assert "unfinished" in listed.stdout


def test_a_terminal_shows_a_bar_with_failures_above_it(inventory, tmp_path):
    env = {**os.environ, "KFIX_STATE_HOME": str(tmp_path), "TERM": "xterm"}
    args = ["-m", "kfix", "fleet", "collect", "-i", str(inventory), "--store", str(tmp_path / "s")]
    child = pexpect.spawn(sys.executable, args, env=env, encoding="utf-8", dimensions=(40, 160), timeout=seconds(60))
    child.expect("closed: the cluster cannot be reached")
    child.expect(r"collecting .*/8")
    child.expect("collected 0 of 8 clusters")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 22


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("collect",), "no store is given"),
        (("collect", "--store", "s"), "no inventory is given"),
        (("collect", "--store", "s", "-i", "nowhere.yaml"), "nowhere.yaml: the inventory does not exist"),
        (("collect", "--store", "s", "-i", "{f}", "--tag", ""), "--tag: is empty"),
        (("collect", "--store", "s", "-i", "{f}", "--run", ""), "--run: is empty"),
        (("collect", "--store", "s", "-i", "{f}", "--run", "a/b"), "is not a valid run name"),
        (("collect", "--store", "s", "-i", "{f}", "--date", "2026-02-30"), "--date: '2026-02-30' is not a day"),
        (("collect", "--store", "s", "-i", "{f}", "--timeout", "0"), "--timeout: 0 is not between"),
        (("collect", "--store", "s", "-i", "{f}", "--concurrency", "0"), "--concurrency: 0 is not between"),
        (("collect", "--store", "nope://x", "-i", "{f}"), "is not a valid location for a fleet store"),
        (("check", "nowhere.yaml"), "the inventory does not exist"),
        (("runs",), "no store is given"),
    ],
)
def test_bad_input_is_one_line_and_code_2(args, said, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from kfix.shell.app import app

    path = tmp_path / "f.yaml"
    path.write_text("apiVersion: kfix/v1\nkind: Fleet\nclusters: {a: {bootstrap: '127.0.0.1:1'}}\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["fleet", *(a.replace("{f}", str(path)) for a in args)])
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.split())


def test_check_shows_the_clusters_or_all_mistakes(inventory, tmp_path):
    good = kfix("check", inventory)
    assert good.returncode == 0
    assert "8 clusters, 0 mutes: valid" in good.stdout
    shown = json.loads(kfix("check", inventory, "--json", "--cluster", "closed").stdout)
    assert [*shown["clusters"]] == ["closed"]
    inventory.write_text(inventory.read_text().replace("timeout: 2s", "timeout: 2").replace("bootstrap", "bootstap", 1))
    bad = kfix("check", inventory)
    assert bad.returncode == 2
    assert [line.removeprefix("kfix: ").split(": ")[0].rpartition("/")[2] for line in bad.stderr.splitlines()[:3]] == [
        "fleet.yaml:3:21", "fleet.yaml:5:3", "fleet.yaml:5:11"
    ]  # fmt: skip
