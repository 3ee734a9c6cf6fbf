"""Collecting a fleet of which some clusters hang: the wall time against the deadline of one cluster.

python -m benchmarks.collect [--clusters 50] [--hanging 5] [--timeout 5] [--partitions 200] [--runs 3]

Endpoints on loopback, in a process of their own, implement the part of Kafka's protocol that collecting needs; those
that hang accept connections and never answer. Target: the wall time is at most 1.2 times the deadline. Not part of
`make test`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kafka.protocol import metadata as meta

from benchmarks.pairs import run
from tests.unit.core.fake_broker import FakeBroker

GOAL = 1.2


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--clusters", type=int, default=50)
    given.add_argument("--hanging", type=int, default=5)
    given.add_argument("--timeout", type=float, default=5.0)
    given.add_argument("--partitions", type=int, default=200)
    given.add_argument("--concurrency", type=int, default=32)
    given.add_argument("--runs", type=int, default=3)
    asked = given.parse_args()
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    brokers = spawn.Process(
        target=serve, args=(theirs, asked.clusters - asked.hanging, asked.hanging, asked.partitions), daemon=True
    )
    brokers.start()
    ports = ours.recv()
    with tempfile.TemporaryDirectory(prefix="kfix-collect-") as folder:
        os.environ["KFIX_STATE_HOME"] = f"{folder}/state"
        inventory = Path(folder) / "fleet.yaml"
        lines = "".join(f"  cluster-{i}: {{bootstrap: '127.0.0.1:{p}'}}\n" for i, p in enumerate(ports))
        inventory.write_text(
            f"apiVersion: kfix/v1\nkind: Fleet\ndefaults: {{timeout: {asked.timeout:g}s}}\nclusters:\n{lines}"
        )
        print("| clusters | hanging | deadline, s | wall, s (range) | wall / deadline | goal | CPU, s |")
        print("|---|---|---|---|---|---|---|")
        done = [measured(inventory, folder, asked.concurrency, asked.hanging) for _ in range(asked.runs)]
    brokers.terminate()
    walls = [wall for wall, _ in done]
    wall, cpu = statistics.median(walls), statistics.median(c for _, c in done)
    print(
        f"| {asked.clusters} | {asked.hanging} | {asked.timeout:g} | {wall:.2f} ({min(walls):.2f} to {max(walls):.2f}) "
        f"| **{wall / asked.timeout:.2f}** | <= {GOAL} | {cpu:.2f} |"
    )


def measured(inventory: Path, folder: str, concurrency: int, hanging: int) -> tuple[float, float]:
    """Returns (wall, CPU) of the whole process in seconds. Exits if other clusters failed than those that hang."""
    command = [sys.executable, "-m", "kfix", "fleet", "collect", "-i", str(inventory), "--store", f"{folder}/store"]
    done = run([*command, "--quiet", "--json", "--concurrency", str(concurrency)], codes=(22 if hanging else 0,))
    said = json.loads(done.output)
    if len(said["failed"]) != hanging:
        raise SystemExit(f"{len(said['failed'])} clusters failed, {hanging} hang: {said['failed']}")
    return done.wall, done.cpu


def serve(line: Connection, answering: int, hanging: int, partitions: int) -> None:
    """Runs one broker per endpoint and sends the ports to `line`. The parent ends it."""
    deaf = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(hanging)]
    ports = [listen(f"cluster-{i}", partitions) for i in range(answering)]
    line.send([*ports, *(s.getsockname()[1] for s in deaf)])
    while True:
        time.sleep(3600)


def listen(cluster: str, partitions: int) -> int:
    """A broker that leads all partitions of one topic, without groups and without a ZooKeeper address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    port: int = listener.getsockname()[1]
    brief, full = (_Bytes(_metadata(cluster, port, n).encode(version=7)) for n in (0, partitions))
    nothing = {32: _Bytes(b"\0" * 8), 16: _Bytes(b"\0" * 10)}
    answers = {key: lambda *_, key=key: nothing[key] for key in nothing}
    broker: Any = FakeBroker({3: lambda _, asked: brief if asked.i32() == 0 else full, **answers})  # type: ignore[no-untyped-call]
    threading.Thread(target=_accept, args=(listener, broker), daemon=True).start()
    return port


def _accept(listener: socket.socket, broker: Any) -> None:
    while True:
        line, _ = listener.accept()
        threading.Thread(target=broker._talk, args=(line,), daemon=True).start()  # noqa: SLF001 - the stub's own loop


class _Bytes:
    """A message that is encoded once, so that the stub uses little of the processor."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def encode(self, version: int) -> bytes:  # noqa: ARG002 - as kafka-python's messages
        return self._raw


def _metadata(cluster: str, port: int, partitions: int) -> Any:
    said = meta.MetadataResponse
    topic = said.MetadataResponseTopic
    found = [
        topic.MetadataResponsePartition(
            error_code=0,
            partition_index=i,
            leader_id=1,
            leader_epoch=0,
            replica_nodes=[1],
            isr_nodes=[1],
            offline_replicas=[],
        )
        for i in range(partitions)
    ]
    topics = [topic(error_code=0, name="orders", is_internal=False, partitions=found)] if found else []
    here = said.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port, rack=None)
    return said(throttle_time_ms=0, brokers=[here], cluster_id=cluster, controller_id=-1, topics=topics)


if __name__ == "__main__":
    main()
