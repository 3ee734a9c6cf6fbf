"""What an attack tried: each is one line or no effect, and never an internal error."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import threading
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from kfix.core.args import Args
from kfix.core.derive.casefile import open_case
from kfix.core.errors import HeldError, InvalidFileError, RefusedError, UsageError
from kfix.core.failures.judging import forecast
from kfix.core.failures.scenarios import failure_of
from kfix.core.inventory.meaning import name_problem
from kfix.core.recorder import folder as ring
from kfix.core.recorder.frames import RecordKind, framed, heads
from kfix.core.snapshot.snapshot import Snapshot
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import FINDINGS
from kfix.front.writing import write_output
from kfix.heal.runbook.lint import lint
from kfix.heal.session.offsets import compared, rules_of
from kfix.lab import breaking
from kfix.watch.exporter import Exporter
from kfix.watch.notify.delivery import ReceiverQueue
from kfix.watch.notify.settings import Receiver, parse_receivers
from tests.unit.core.failures.test_unknown import ORDERS, cluster
from tests.unit.watch.notify.test_settings import HEAD
from tests.waiting import seconds, wait_until


def with_replica(snapshot: Snapshot, broker: int) -> Snapshot:
    record = snapshot.zookeeper
    assert record is not None
    assigned = {**record.assignments, ORDERS: record.assignments[ORDERS]._replace(replicas=(broker, 1))}
    return replace(snapshot, zookeeper=replace(record, assignments=assigned))


def test_a_replica_below_zero_is_a_partition_that_is_not_judged() -> None:
    case = open_case(with_replica(cluster().snapshot(), -1))
    found = forecast(case, (failure_of("broker=2", case),), named=True)
    assert found.unknown


@pytest.mark.parametrize("source", [["a"], {"a": 1}, 7, True])
def test_a_from_step_of_any_type_is_a_mistake(source: object) -> None:
    steps = [{"id": "a", "action": "config.set"}, {"id": "b", "action": "config.set", "from_step": source}]
    assert any("there is no step" in problem.text for problem in lint({"steps": steps}))


@pytest.mark.parametrize("at", [float("inf"), float("-inf"), float("nan"), 1e300, -1.0])
def test_a_record_of_an_impossible_time_is_passed_over(at: float) -> None:
    good = framed(RecordKind.REMARK, 2, 1.0, 1.0, {})
    for bad in (framed(RecordKind.REMARK, 1, at, 1.0, {}), framed(RecordKind.REMARK, 1, 1.0, at, {})):
        assert [head.sequence for head in heads(bad + good)] == [2]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_folder_is_no_name_of_a_cluster(name: str) -> None:
    assert "is not a valid cluster name" in name_problem(name)


def test_offsets_that_name_no_cluster_are_restored_nowhere() -> None:
    reader: Any = SimpleNamespace(identity=lambda: SimpleNamespace(id="here"))
    saved: Any = SimpleNamespace(cluster="", groups=())
    with pytest.raises(RefusedError, match="name no cluster"):
        compared(saved, reader, rules_of(Args({})))


def test_a_deleted_lock_file_lets_no_second_watch_in(tmp_path: Path) -> None:
    folder = tmp_path / "ring"
    ring.prepare(folder)
    handle = ring.lock(folder)
    with pytest.raises(HeldError, match=f"process {os.getpid()}"):
        ring.lock(folder)
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(HeldError, match="another watch records there"):
        ring.lock(folder)
    os.close(handle)
    os.close(ring.lock(folder))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a link away")
def test_an_output_does_not_follow_the_link_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "target")
    os.lchown(tmp_path / "out", 54321, -1)
    with pytest.raises(UsageError, match="is not followed"):
        write_output("text", str(tmp_path / "out"))
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://hooks.example/x?token=${env:KEY}", "http sends it in plain text: use https"),
        ("http://hooks.example/x?token=hunter2", "http sends it in plain text: use https"),
        ("https://hooks.example/x?token=hunter2", "url holds a secret: write ${env:NAME}"),
    ],
)
def test_a_token_in_the_url_of_a_webhook_is_neither_written_nor_sent_in_plain_text(url: str, said: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        parse_receivers(f"{HEAD}  - {{type: webhook, url: '{url}'}}\n", "n.yaml", {"KEY": "hunter2"})
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
    for fine in ("http://127.0.0.1/x?token=${env:KEY}", "https://hooks.example/x?token=${env:KEY}", "http://am:9093"):
        parse_receivers(f"{HEAD}  - {{type: webhook, url: '{fine}'}}\n", "n.yaml", {"KEY": "hunter2"})


@pytest.mark.parametrize("path", ["../../etc/passwd", "%2E%2E/x.parquet", "/etc/passwd", "s3://other/x"])
def test_a_commit_that_leaves_the_table_is_refused(tmp_path: Path, path: str) -> None:
    store = tmp_path / "store"
    shutil.copytree("examples/fleet/store", store)
    for commit in (store / "tables" / "findings" / "_delta_log").glob("*.json"):
        rows = [json.loads(line) for line in commit.read_text().splitlines()]
        for row in rows:
            if "add" in row:
                row["add"]["path"] = path
        commit.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError):
        StoreTable(place_of(str(store)), FINDINGS).files()


def dripping() -> socket.socket:
    """A receiver that answers one byte every half second, for ever."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
                with client:
                    client.recv(65_536)
                    for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
                        server.getsockname()  # OSError once the test has closed it
                        client.send(bytes([byte]))
                        time.sleep(0.5)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return server


def test_a_dripping_receiver_is_given_up_after_the_time_of_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kfix.watch.notify.delivery.TIMEOUT", 1.0)
    monkeypatch.setattr("kfix.watch.notify.delivery.payloads", lambda *_: [{}])
    with dripping() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        delivery = ReceiverQueue(Receiver("webhook", "slow", url), pauses=())
        delivery.send([SimpleNamespace()])  # type: ignore[list-item]
        wait_until(lambda: delivery.state.failed, "it is given up")
        assert delivery.state.error == "connection or response timed out"
        delivery.close(time.monotonic())


def test_dripping_clients_leave_the_exporter_open_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kfix.watch.exporter._SECONDS", 2.0)
    exporter = Exporter(":0", lambda: "up 1\n")
    port = int(exporter.url.rpartition(":")[2].partition("/")[0])
    before = threading.active_count()
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    for client in held:
        client.send(b"GET /metrics")

    def scrape() -> bytes:
        for client in held:
            with contextlib.suppress(OSError):
                client.send(b"x")
        with contextlib.suppress(OSError):
            return bytes(urllib.request.urlopen(exporter.url, timeout=seconds(5)).read())
        return b""

    assert threading.active_count() - before <= 2 * 16
    body = wait_until(scrape, "others are served", within=60)
    assert body == b"up 1\n"
    exporter.close()
    for client in held:
        client.close()


def test_a_refused_incident_leaves_the_lab_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[Any] = [SimpleNamespaceState(None, None)]

    class Store:
        def update(self, change: Any) -> None:
            states.append(change(states[-1]))

    class Access:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def baseline(self, _: object) -> str:
            return "before"

    def refuse(_: object) -> None:
        raise UsageError("no such partition")

    incident = SimpleNamespace(name="it", make=refuse)
    lab: Any = SimpleNamespace(store=Store(), access=Access, broker_ids=(1,))
    for name, stub in (
        ("incident_named", lambda _: incident),
        ("_check", lambda *_: None),
        ("checked", lambda *_: {}),
        ("IncidentContext", lambda *_: SimpleNamespace(ensure_offsets_topic=lambda: None)),
        ("replace", lambda state, **new: SimpleNamespaceState(new["baseline"], new["incident"])),
    ):
        monkeypatch.setattr(breaking, name, stub)
    with pytest.raises(UsageError):
        breaking.break_lab(lab, "it", {}, lambda _: None)
    assert [state.incident for state in states] == [None, "it", None]
    assert states[-1].baseline is None


class SimpleNamespaceState(SimpleNamespace):
    def __init__(self, baseline: object, incident: object) -> None:
        super().__init__(baseline=baseline, incident=incident)
