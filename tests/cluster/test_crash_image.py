"""The power of all brokers fails while their disks lack what was not synced: a crash image of an ext4 file system.

The disk is a file behind a loop device. A copy of the file is what the brokers find when they start again: Kafka hands
records to the page cache and does not sync them, so acknowledged ones, acks=all included, may be missing on every
replica. ZooKeeper, on another host, survives.
"""

import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import Lab, LabSpec
from kfix.lab.nodes.brokers import kill_brokers
from tests.cluster.conftest import Kfix
from tests.cluster.seen import Cluster
from tests.waiting import seconds, wait_until

WHERE = TopicPartition("ledger", 0)
MEGABYTES = 192


def run(*words, check=True):
    """Returns whether it succeeded; with `check`, raises CalledProcessError if it did not."""
    return (
        subprocess.run([str(word) for word in words], check=check, timeout=seconds(60), capture_output=True).returncode
        == 0
    )


@contextmanager
def mounted(image, at, *options):
    run("mount", *options, image, at)
    try:
        yield at
    finally:
        # The kernel may still close the files of a broker that was just killed.
        wait_until(lambda: run("umount", at, check=False), f"{at} is unmounted", 30)


class Disk:
    """The file system on which all brokers have their data; `mounted` is where it is, until the power fails."""

    def __init__(self, lab, folder):
        self.lab, self.at, self.image = lab, folder / "disk", folder / "disk.img"
        self.at.mkdir()
        with self.image.open("wb") as file:
            file.truncate(MEGABYTES * 2**20)
        run("mkfs.ext4", "-q", "-F", self.image)
        self.stack = ExitStack()

    def folder_of(self, broker):
        return Path(self.lab.state.data) / f"broker-{broker}"

    def mount(self):
        # No write of the journal's own timer: what was not synced is lost, as on a host that writes back rarely.
        self.stack.enter_context(mounted(self.image, self.at, "-o", "loop,data=writeback,commit=600"))
        for broker in self.lab.broker_ids:
            (self.at / str(broker)).mkdir(exist_ok=True)
            if not any((self.at / str(broker)).iterdir()):
                shutil.copytree(self.folder_of(broker), self.at / str(broker), dirs_exist_ok=True)
            self.stack.enter_context(mounted(self.at / str(broker), self.folder_of(broker), "--bind"))

    def fails(self, image):
        """The power fails: nothing survives but what is on the disk at this moment, which is copied to `image`."""
        shutil.copyfile(self.image, image)
        kill_brokers(self.lab, self.lab.broker_ids)
        self.stack.close()
        self.image = image


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path / "labs"))
    lab = Lab.up(LabSpec(name="crash", offsets_rf=3))
    disk = Disk(lab, tmp_path)
    try:
        lab.break_("healthy")
        kill_brokers(lab, lab.broker_ids)
        disk.mount()
        lab.restart(*lab.broker_ids)
        yield disk
    finally:
        lab.nodes.kill(lab.state, lab.broker_ids)
        disk.stack.close()
        lab.down()


def end_of_all(lab):
    """The log end on which all replicas agree: right after a start, the recorded ISR is the one from before it."""
    with lab.access() as access:
        cluster, read = Cluster(lab, access), set()

        def agree():
            read.clear()
            read.update(cluster.end(broker, WHERE).offset for broker in lab.broker_ids)
            return len(read) == 1 and len(access.state(*WHERE).isr) == 3

        wait_until(agree, "all replicas are in sync and end alike", 30)
        return read.pop()


def test_acknowledged_records_that_no_disk_holds_are_reported_and_others_are_not(disk, tmp_path):
    lab, kfix = disk.lab, Kfix(disk.lab, tmp_path / "state")
    with lab.access() as access:
        access.create_topic(WHERE.topic, [[1, 2, 3]], {"min.insync.replicas": "2"})
    for synced in (True, False):
        with lab.access() as access:
            access.produce(WHERE.topic, {0: [(b"key", b"record %d" % n) for n in range(30)]}, acks="all")
        if synced:
            run("sync")
        before = tmp_path / f"before-{synced}.json"
        assert kfix.on("snapshot", "save", before).code == 0
        end = end_of_all(lab)
        disk.fails(tmp_path / f"crash-{synced}.img")
        disk.mount()
        lab.restart(*lab.broker_ids)
        left = end_of_all(lab)
        said = kfix.diagnose("--before", before)
        lost = [p for f in said.every if f["code"] == "KFX809" for p in f["facts"]["partitions"]]
        if synced:
            assert (left, said.code) == (end, 0), said.out
            assert lost == []
        else:
            assert left < end
            assert (f"{WHERE}={end - left}" in lost, said.code) == (True, 21), said.out
        logs = [disk.folder_of(broker) for broker in lab.broker_ids]
        inspected = kfix.run("inspect", "log-dir", *logs, "--topic", WHERE.topic)
        assert inspected.code in {0, 20, 21}, inspected.err
        assert "Traceback" not in inspected.err
