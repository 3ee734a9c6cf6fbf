"""The shell offers names that this host knows: never by the network, within a moment, and quiet on any error."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.application import App
from kfix.core.clock import SystemClock
from kfix.core.contexts.pins import Contexts
from kfix.core.inventory import trust
from kfix.core.saved.store import SnapshotStore
from kfix.core.snapshot.snapshot import Snapshot
from kfix.lab import INCIDENTS
from kfix.shell.app import app
from tests.places import ROOT
from tests.unit.diagnostics.build import remembering
from tests.unit.diagnostics.clusters import base, coordinator_stuck
from tests.unit.shell.test_contexts import FLEET
from tests.waiting import seconds

KFIX = str(Path(sys.executable).with_name("kfix"))


class NoCluster:
    """Fails on any use: completion asks no cluster."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config" / "kfix" / "runbooks").mkdir(parents=True)
    (tmp_path / "config" / "kfix" / "fleet.yaml").write_text(FLEET)
    (tmp_path / "config" / "kfix" / "runbooks" / "our-own.yaml").write_text("not read")
    (tmp_path / "state" / "kfix" / "runs" / "20260101T000000Z-abcdef12").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(trust, "HOST", tmp_path / "etc")
    return tmp_path


def environ(home: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(home / "config"), "KFIX_STATE_HOME": str(home / "state")}


def offered(home: Path, line: str, **more: str) -> list[str]:
    world = environ(home) | more
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_KFIX_COMPLETE": "complete_bash"}
    behind = App(NoCluster(), SystemClock(), world)  # type: ignore[arg-type]
    done = CliRunner().invoke(app, [], prog_name="kfix", env=world | words, obj=behind)
    assert done.stderr == ""
    assert done.exit_code in {0, 1}
    return [word for word in done.stdout.split("\n") if word]


def keep(home: Path, name: str, snapshot: Snapshot) -> None:
    snapshot = replace(snapshot, cluster=replace(snapshot.cluster, id=f"id-of-{name}"))
    assert SnapshotStore(home / "state" / "kfix").keep(snapshot) is not None
    Contexts(home / "state" / "kfix").pin(name, snapshot.cluster.id)


@pytest.mark.parametrize(
    "line",
    ["kfix -c ord", "kfix diagnose -c ord", "kfix context use ord", "kfix context show ord", "kfix whatif -c ord"],
)
def test_contexts(home: Path, line: str) -> None:
    assert offered(home, line) == ["orders-eu", "orders-us"]


def test_codes_runbooks_runs_and_incidents(home: Path) -> None:
    assert offered(home, "kfix explain KFX10")[:2] == ["KFX101", "KFX102"]
    assert offered(home, "kfix diagnose --only kfx101,KFX11")[0] == "kfx101,KFX110"
    assert offered(home, "kfix runbook plan coordinator-s") == ["coordinator-stuck"]
    assert offered(home, "kfix runbook apply our") == ["our-own"]
    for command in ("resume", "abort", "rollback", "verify", "history"):
        assert offered(home, f"kfix runbook {command} 2026") == ["20260101T000000Z-abcdef12"]
    assert set(offered(home, "kfix lab break ")) == {*INCIDENTS}


def test_topics_and_groups_are_those_of_the_last_snapshot_of_the_named_cluster(home: Path) -> None:
    keep(home, "orders-eu", coordinator_stuck().snapshot())
    eu = set(offered(home, "kfix diagnose -c orders-eu --topic "))
    assert "__consumer_offsets" in eu
    keep(home, "orders-us", base().topic("only-here", 1).snapshot())
    assert "only-here" in offered(home, "kfix diagnose --topic o")
    assert "only-here" in offered(home, "kfix -c orders-us diagnose --topic only")
    assert offered(home, "kfix diagnose --topic only", KFIX_CLUSTER="orders-eu") == []
    groups = offered(home, "kfix diagnose -c orders-eu --group ")
    assert groups
    assert offered(home, "kfix offsets save -c orders-eu --group ") == groups
    assert offered(home, "kfix diagnose -c nowhere --group ") == []


def test_a_name_that_a_shell_would_read_otherwise_is_not_offered(home: Path) -> None:
    snapshot = coordinator_stuck().snapshot()
    names = ("good", "a b", "$(reboot)", "x;y", "line\nend", "\x1b[2J", "q'")
    keep(home, "orders-eu", remembering(snapshot, groups=(*snapshot.memory.groups, *names)))
    found = offered(home, "kfix diagnose -c orders-eu --group ")
    assert "good" in found
    assert not {*found} & {*names[1:]}


@pytest.mark.parametrize("text", ["", "clusters: 7", "{", "clusters:\n  *a: 1", "\x00"])
def test_a_damaged_inventory_offers_nothing(home: Path, text: str) -> None:
    (home / "config" / "kfix" / "fleet.yaml").write_text(text)
    assert offered(home, "kfix -c ") == []


def test_aliases_and_a_file_that_unpacks_to_gigabytes_cost_nothing(home: Path) -> None:
    bomb = "clusters:\n  a0: &a0 [x, x]\n" + "".join(
        f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    (home / "config" / "kfix" / "fleet.yaml").write_text(bomb)
    keep(home, "orders-eu", base().snapshot())
    [kept] = (home / "state" / "kfix" / "clusters").glob("*/*.json.gz")
    kept.write_bytes(gzip.compress(b'{"topic_configs": [' + b"[]," * (30 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.process_time()
    assert offered(home, "kfix -c ") == []
    assert offered(home, "kfix diagnose --topic ") == []
    assert time.process_time() - began < 5
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 200 << 10


def test_damaged_and_missing_state_offers_nothing(home: Path) -> None:
    shutil.rmtree(home / "state")
    for line in ("kfix diagnose --topic ", "kfix diagnose --group ", "kfix runbook resume "):
        assert offered(home, line) == []
    keep(home, "orders-eu", base().snapshot())
    for path in (home / "state" / "kfix" / "clusters").glob("*/*"):
        path.write_bytes(b"\x1f\x8b damaged")
    for line in ("kfix diagnose --topic ", "kfix diagnose -c orders-eu --group "):
        assert offered(home, line) == []


def test_a_folder_of_properties_has_contexts_too(home: Path) -> None:
    folder = home / "many"
    (folder / "nested").mkdir(parents=True)
    (folder / "plain.properties").write_text("bootstrap.servers=localhost:1\n")
    (folder / "nested" / "client.properties").write_text("bootstrap.servers=localhost:1\n")
    assert set(offered(home, "kfix -c ", KFIX_FLEET=str(folder))) == {"plain", "nested"}


def test_a_real_bash_completes_and_needs_little_cpu(home: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    keep(home, "orders-eu", coordinator_stuck().snapshot())
    script = (
        'eval "$(_KFIX_COMPLETE=source_bash kfix)"\n'
        "complete -p kfix | grep -q _kfix_completion || exit 9\n"
        'ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _kfix_completion kfix;'
        ' printf "%s\\n" "${COMPREPLY[*]}"; }\n'
        "ask kfix -c ord\nask kfix diagnose -c orders-eu --topic __cons\nask kfix explain KFX101\n"
        'ask kfix context use ""\n'
    )
    path = f"{Path(KFIX).parent}:{os.environ['PATH']}"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", script],
        env={**os.environ, **environ(home), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        cwd=home / "work",
        timeout=seconds(60),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    said = [line.split() for line in done.stdout.splitlines()]
    assert said == [["orders-eu", "orders-us"], ["__consumer_offsets"], ["KFX101"], ["orders-eu", "orders-us"]]
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert spent / 5 < 1.0, "0.2 s on an idle machine; a shared one is slower"


@pytest.mark.parametrize("line", ["kfix -c ", "kfix diagnose --topic ", "kfix explain KFX", "kfix runbook resume "])
def test_completion_opens_no_connection_and_loads_no_client_library(home: Path, line: str) -> None:
    keep(home, "orders-eu", base().snapshot())
    script = (
        "import socket, sys\n"
        "def refuse(*_a, **_k): raise SystemExit('a connection')\n"
        "socket.socket.connect = refuse\nsocket.getaddrinfo = refuse\n"
        "sys.argv = ['kfix']\nfrom kfix.shell.app import app\n"
        "try:\n    app(prog_name='kfix')\nexcept SystemExit as end:\n    assert end.code in (0, 1, None), end.code\n"
        "heavy = [m for m in ('confluent_kafka', 'kazoo', 'pydantic') if m in sys.modules]\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    world = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_KFIX_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environ(home), **world, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))},
        capture_output=True,
        text=True,
        check=False,
        cwd=home / "work",
        timeout=seconds(60),
    )
    assert (done.returncode, done.stderr) == (0, "")
