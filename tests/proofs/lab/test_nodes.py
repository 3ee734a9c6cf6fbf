"""The verbs on processes return when their effect is there: a child with many threads, and no wait in a test."""

import sys
from pathlib import Path

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.spec import LabSpec
from kfix.lab.definition.state import LabState
from kfix.lab.definition.store import Store
from kfix.lab.nodes.nodes import Nodes
from kfix.lab.process import processes

BUSY = """
import threading
for _ in range(20):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print("ready", flush=True)
threading.Event().wait(60)
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))
    store = Store("drill")
    store.save(LabState("drill", f"unit-{tmp_path.name}", LabSpec(name="drill"), str(tmp_path / "data")))
    yield store
    Nodes(store).end_all(store.load().id)


@pytest.fixture
def nodes(store):
    nodes = Nodes(store)
    tag = f"kfix.lab.id={store.load().id}"
    record = nodes.spawn("broker", 1, [sys.executable, "-X", tag, "-c", BUSY])
    while "ready" not in Path(record.log).read_text():
        assert processes.state_of(record, store.load().id) != "dead"
    return nodes


def states(store):
    pid = store.load().record("broker", 1).pid
    return {processes.read_stat(int(each.name)).state for each in Path(f"/proc/{pid}/task").iterdir()}


def test_stop_returns_when_every_thread_is_stopped_and_cont_when_none_is(store, nodes):
    for _ in range(10):
        nodes.stop(store.load(), 1)
        assert states(store) == {"T"}
        assert nodes.condition(store.load(), "broker", 1) == "stopped"
        nodes.cont(store.load(), 1)
        assert "T" not in states(store)
        assert nodes.condition(store.load(), "broker", 1) == "alive"


def test_stop_of_a_process_that_is_stopped_already_returns_at_once(store, nodes):
    nodes.stop(store.load(), 1)
    nodes.stop(store.load(), 1)
    assert states(store) == {"T"}


def test_kill_returns_when_the_process_is_gone_also_when_it_was_stopped(store, nodes):
    nodes.stop(store.load(), 1)
    nodes.kill(store.load(), [1])
    assert nodes.condition(store.load(), "broker", 1) == "dead"
    for verb in (nodes.stop, nodes.cont):
        with pytest.raises(LabError, match="broker 1 is dead"):
            verb(store.load(), 1)


def test_shutdown_returns_when_the_process_has_ended_and_refuses_one_that_is_stopped(store, nodes):
    nodes.stop(store.load(), 1)
    with pytest.raises(UsageError, match="broker 1 is stopped and cannot shut down"):
        nodes.shutdown(store.load(), [1])
    nodes.cont(store.load(), 1)
    nodes.shutdown(store.load(), [1])
    assert nodes.condition(store.load(), "broker", 1) == "dead"
