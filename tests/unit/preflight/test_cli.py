"""`kfix preflight`: what it prints, its exit codes, and how long it waits."""

import json

import pytest
from typer.testing import CliRunner

from kfix.core.errors import UnreachableError
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.state import ManualClock
from kfix.preflight import acts
from kfix.preflight.preflight import preflight_of, wait_until_safe
from kfix.shell.app import app
from tests.places import ROOT
from tests.unit.heal.fake_wiring import FakeWiring

SNAPSHOTS = ROOT / "examples" / "snapshots"


def run(*args, behind=None):
    return CliRunner().invoke(app, ["preflight", *map(str, args)], obj=behind)


@pytest.fixture
def behind(tmp_path):
    return lambda cluster: FakeWiring(cluster).app(tmp_path / "state", cluster.clock)


def test_the_first_line_is_the_verdict():
    safe = run("restart", "broker=1001", "--from", SNAPSHOTS / "healthy.json.gz")
    assert (safe.exit_code, safe.stdout.partition(" on ")[0]) == (0, "safe: restart broker=1001")
    unsafe = run("stop", "broker=1003", "--from", SNAPSHOTS / "offsets-rf1.json.gz")
    assert (unsafe.exit_code, unsafe.stdout.partition(" on ")[0]) == (23, "unsafe: stop broker=1003")
    assert "__consumer_offsets-2 would have no leader: there is no other replica" in unsafe.stdout
    assert "groups: billing-3" in unsafe.stdout


def test_the_document_says_the_same():
    said = run("stop", "broker=1003", "--from", SNAPSHOTS / "offsets-rf1.json.gz", "--json")
    document = json.loads(said.stdout)
    assert (said.exit_code, document["exit_code"], document["verdict"]) == (23, 23, "unsafe")
    [found] = document["obstacles"]
    assert (found["kind"], found["partitions"], found["groups"]) == ("stops", ["__consumer_offsets-2"], ["billing-3"])


def test_a_live_cluster_is_judged_too(behind):
    cluster = MemoryCluster.healthy(topics={"orders": 3}, replication=2)
    result = run("restart", "broker=2", "--bootstrap-server", "h:1", behind=behind(cluster))
    assert result.exit_code == 0, result.output
    cluster.kill(3)
    result = run("restart", "broker=2", "--bootstrap-server", "h:1", "--debounce", "0", behind=behind(cluster))
    assert result.exit_code == 23, result.output
    assert "until: broker 3 is started, and in sync" in result.stdout


def test_a_saved_snapshot_is_not_waited_for():
    result = run("restart", "broker=1001", "--from", SNAPSHOTS / "healthy.json.gz", "--wait", "1m")
    assert (result.exit_code, "leave out" in result.output) == (2, True)


class _Looks:
    """Verdicts one after the other; an error is raised."""

    def __init__(self, *looks):
        self.looks = list(looks)

    def __call__(self):
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        return found


def verdicts():
    """Safe, unsafe until a broker is back, and unsafe whatever the time."""
    cluster = MemoryCluster.healthy(topics={"orders": 3}, replication=2)
    act = acts.restart("broker=2")
    safe = preflight_of(act, cluster.snapshot())
    cluster.kill(3)
    later = preflight_of(act, cluster.snapshot())
    alone = MemoryCluster.healthy(topics={"orders": 3}, replication=1)
    return safe, later, preflight_of(act, alone.snapshot())


def test_waiting_ends_when_it_is_safe_or_can_never_be():
    safe, later, never = verdicts()
    clock, said = ManualClock(), []
    unread = UnreachableError("nothing answers")
    assert wait_until_safe(_Looks(later, unread, later, safe), 60, clock, said.append) is safe
    assert (said, clock.monotonic() > 0) == ([later], True)
    before = clock.monotonic()
    assert wait_until_safe(_Looks(never), 60, clock, said.append) is never
    assert clock.monotonic() == before


def test_waiting_ends_with_its_time():
    _, later, _ = verdicts()
    clock = ManualClock()
    began = clock.monotonic()
    assert wait_until_safe(_Looks(later), 10, clock, lambda _found: None) is later
    assert clock.monotonic() - began == 10
    with pytest.raises(UnreachableError):
        wait_until_safe(_Looks(UnreachableError("nothing answers")), 10, clock, lambda _found: None)
