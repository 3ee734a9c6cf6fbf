"""Proof: the power fails at any moment, and what kfix had called durable is on the disk, readable and gone on with.

The disk is a file behind a loop device. What the file system has not handed to it is lost with the power, so a copy of
the file is what a machine finds when it starts again; mounted, it replays its own journal. ext4 is mounted with
`data=writeback`, in which contents that were not synced are missing although the name of the file is there.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import KfixError
from kfix.core.recorder.folder import SegmentFiles
from kfix.core.recorder.reading import Recording
from kfix.core.recorder.ring import Recorder, RingBounds
from kfix.heal.journal.journal import read_back
from kfix.heal.journal.runs import RunStore
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.killing import EVERYWHERE
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Moment, Stage, copied, too_often, world
from tests.unit.core.recorder.test_ring import Times, flapping
from tests.waiting import seconds

MEGABYTES = 4
#: Of the moments of a ring, this share; `make fuzz` takes all.
EACH = 1 if EVERYWHERE else 9


class Disk:
    """An ext4 file system in a file, mounted at `path` until the end of `with mounted()`."""

    def __init__(self, folder: Path) -> None:
        self.file, self.path = folder / "disk.img", folder / "disk"
        self.path.mkdir(parents=True)
        self.file.write_bytes(b"")
        with self.file.open("r+b") as file:
            file.truncate(MEGABYTES * 2**20)
        run("mkfs.ext4", "-q", "-F", self.file)

    def fails(self, image: Path) -> Path:
        """Returns what is on the disk at this moment: nothing else survives."""
        shutil.copyfile(self.file, image)
        return image


def run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, timeout=seconds(60), capture_output=True)


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    at.mkdir(exist_ok=True)
    run("mount", "-o", "loop,data=writeback", image, at)
    try:
        yield at
    finally:
        run("umount", at)


@pytest.fixture(autouse=True)
def no_fsync() -> None:
    """The other proofs do without syncing. Here all depends on it."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "host")
    with mounted(disk.file, disk.path):
        yield disk


# -- the journal


class Failing:
    """Takes an image of the disk after every record and every call, and the cluster as it is then."""

    def __init__(self, stage: Stage, disk: Disk, folder: Path) -> None:
        self.stage, self.disk, self.folder = stage, disk, folder
        folder.mkdir()
        self.images: list[tuple[Path, Moment, int]] = []
        self.records = 0
        stage.listeners.append(self.written)

    def written(self, record: Any) -> None:
        self.records = record["seq"] + 1
        self.take(f"record {record['seq']} {record['type']}")

    def take(self, what: str) -> None:
        cluster = copied(self.stage.cluster)
        cluster.lock.holder, cluster.lock._ours = None, False
        number = len(self.images)
        image = self.disk.fails(self.folder / f"{number}.img")
        self.images.append((image, Moment(cluster, self.folder / f"home-{number}", what), self.records))


SHORT, LONG = ["ladder of two rungs"], ["durable-defaults", "over others' throttles"]


@pytest.mark.parametrize("name", SHORT + LONG if EVERYWHERE else SHORT)
def test_a_run_is_gone_on_with_from_what_a_power_failure_left_of_its_journal(
    name: str, disk: Disk, tmp_path: Path
) -> None:
    stage = Stage(SCENARIOS[name], disk.path / "kfix")
    plan = stage.plan()
    failing = Failing(stage, disk, tmp_path / "images")
    stage.run(plan)
    after = world(stage.cluster)
    for image, moment, told in failing.images[:-1]:
        with mounted(image, tmp_path / "again") as found:
            shutil.copytree(found / "kfix", moment.home)
        image.unlink()
        [left] = RunStore(moment.home).runs()
        back = read_back(left.journal_path)
        # Each record that a run had been told to be on the disk is there, and what follows is torn at most.
        assert (back.broken, len(back.records) >= told) == ("", True), moment.what
        assert left.plan() == plan, moment.what
        other = stage.at(moment)
        try:
            healed = other.resume()
        except KfixError as error:
            raise AssertionError(f"the power failed at {moment.what}: {error}") from error
        assert healed.outcome is Outcome.PROVED, moment.what
        assert too_often(other.calls, plan).total() == 0, moment.what
        assert world(other.cluster) == after, moment.what


# -- the ring of the recorder


class Watching(SegmentFiles):
    """The files of a ring, with something to do right before and after each write, sync and removal."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def create(self, path: Path) -> int:
        handle = super().create(path)
        self.then()
        return handle

    def write(self, handle: int, data: bytes, offset: int) -> None:
        super().write(handle, data, offset)
        self.then()

    def sync(self, handle: int) -> None:
        super().sync(handle)
        self.then()

    def remove(self, path: Path) -> None:
        self.then()
        super().remove(path)
        self.then()


def test_a_ring_opens_after_a_power_failure_with_all_that_was_stored(disk: Disk, tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(40)
    stored: list[float] = []
    images: list[tuple[Path, float, float]] = []
    (tmp_path / "images").mkdir()

    moments = itertools.count()

    def fail() -> None:
        if not stored or next(moments) % EACH:
            return
        image = disk.fails(tmp_path / "images" / f"{len(images)}.img")
        images.append((image, oldest(), stored[-1]))

    def oldest() -> float:
        """What was deleted on purpose, to keep the bound, is not lost."""
        return min((r.at for r in Recording(disk.path / "ring").records() if r.snapshot is not None), default=0.0)

    recorder = Recorder(
        disk.path / "ring",
        RingBounds(size=200_000, hours=24.0),
        files=Watching(fail),
        clock=times.monotonic,
        wall=times.wall,
    )
    for snapshot in snapshots:
        assert recorder.store(replace(snapshot, taken_at=times.now)), recorder.paused
        stored.append(times.now)
        fail()
        times.pass_()
    recorder.close()
    for image, since, until in images:
        with mounted(image, tmp_path / "again") as found:
            ring = Recording(found / "ring")
            held = [r.snapshot.taken_at for r in ring.records() if r.snapshot is not None]
            assert ring.problems == []
            assert set(held) >= {at for at in stored if since < at <= until}, (since, until, held[-3:])
            again = times.recorder(found / "ring")
            assert again.store(replace(snapshots[-1], taken_at=times.now))
            again.close()
        image.unlink()
