"""Proof: while the disk of a recording is full, the watch continues, reports it, and loses no remark."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.recorder.reading import Recording, RingRecord
from kfix.core.recorder.ring import Recorder, RingBounds
from kfix.core.snapshot.snapshot import Snapshot
from kfix.watch.model import WatchState
from tests.unit.core.recorder.test_ring import EVERY, Times
from tests.unit.diagnostics.build import Paper
from tests.unit.watch.test_watching import Clock, run
from tests.waiting import seconds

#: A full tmpfs still takes what fits into the last page of a file, so each record of these tests is longer than a page.
CHANCE = random.Random(11)
GONE = UnreachableError(f"the cluster cannot be reached: {CHANCE.randbytes(4500).hex()}")


def restless() -> Snapshot:
    """A healthy cluster that shares no topic with the one before it."""
    paper = Paper().offsets(5)
    for _ in range(60):
        paper.topic(CHANCE.randbytes(100).hex(), 1)
    return paper.snapshot()


class FullDisk:
    """A file system of 1 MiB; `fill` leaves no byte of it, and `free` gives all back."""

    def __init__(self, path: Path) -> None:
        self.path, self._ballast = path, path / "ballast"

    def fill(self) -> None:
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while True:
                os.posix_fallocate(file.fileno(), file.tell(), 4096)
                file.seek(4096, os.SEEK_CUR)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FullDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(path)], check=True, timeout=seconds(60))
    try:
        yield FullDisk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True, timeout=seconds(60))


def remarks(ring: Path, *kinds: str) -> list[RingRecord]:
    recording = Recording(ring)
    found = [record for record in recording.records() if record.what in kinds]
    assert recording.problems == []
    return found


def watched(disk: FullDisk, events: dict[float, Callable[[], None]], lost: Callable[[float], bool]) -> list[WatchState]:
    """Runs a watch of 12 snapshots, 15 s apart, and calls each event once its second has come."""
    waiting = dict(events)
    clock = Clock()

    def story(at: float) -> object:
        for second in [second for second in waiting if at >= second]:
            waiting.pop(second)()
        return GONE if lost(at) else restless()

    code, states, _ = run(story, 12, clock=clock, recorder=disk.path / "ring")  # type: ignore[arg-type]
    assert code == 0
    assert not waiting
    return states


def test_a_cluster_that_was_lost_and_came_back_while_the_disk_was_full_is_in_the_recording(disk: FullDisk) -> None:
    states = watched(disk, {30: disk.fill, 120: disk.free}, lambda at: 45 <= at < 75)
    assert [r.what for r in remarks(disk.path / "ring", "lost", "back", "paused")] == ["lost", "back", "paused"]
    paused = [state.recorder is not None and "no space left" in state.recorder.paused for state in states]
    assert paused[2:8] == [True] * 6
    assert not any(paused[8:])


def test_a_cluster_that_comes_back_on_a_full_disk_is_back_in_the_recording(disk: FullDisk) -> None:
    watched(disk, {45: disk.fill, 120: disk.free}, lambda at: 30 <= at < 75)
    assert [r.what for r in remarks(disk.path / "ring", "lost", "back")] == ["lost", "back"]


def test_remarks_are_written_as_soon_as_there_is_space_although_the_cluster_is_still_lost(disk: FullDisk) -> None:
    states = watched(disk, {30: disk.fill, 75: disk.free}, lambda at: 45 <= at < 150)
    paused = [bool(state.recorder and state.recorder.paused) for state in states]
    assert paused == [False, False, True, True, True, *[False] * 7]


def test_a_disk_that_is_full_from_the_start_loses_only_the_snapshots(disk: FullDisk) -> None:
    (disk.path / "ring").mkdir(mode=0o700)
    (disk.path / "ring" / "lock").touch(mode=0o600)
    disk.fill()
    states = watched(disk, {120: disk.free}, lambda at: 30 <= at < 60)
    kinds = [r.what for r in remarks(disk.path / "ring", "began", "lost", "back", "paused")]
    assert kinds == ["began", "lost", "back", "paused"]
    assert states[0].recorder is not None
    assert "no space left" in states[0].recorder.paused


def test_a_clock_that_is_set_while_the_disk_is_full_is_in_the_recording_at_its_time(disk: FullDisk) -> None:
    times, ring, lost = Times(), disk.path / "ring", 0.0
    with contextlib.closing(
        Recorder(ring, RingBounds(size=1_000_000), clock=times.monotonic, wall=times.wall)
    ) as recorder:
        for number in range(40):
            if number == 10:
                disk.fill()
            if number == 15:
                times.now += 3600
            if number == 20:
                recorder.remark("lost", str(GONE))
                lost = times.now
            if number == 30:
                disk.free()
            stored = recorder.store(replace(restless(), taken_at=times.now))
            assert stored is not (10 <= number < 30), recorder.paused
            times.pass_()
    [clock, gone] = remarks(ring, "clock", "lost")
    assert "was set ahead by 3600 s" in clock.text
    assert gone.at == pytest.approx(lost)
    assert gone.at - clock.at == pytest.approx(5 * EVERY)
    at = [r.at for r in Recording(ring).records()]
    assert at == sorted(at)
    assert at[-1] - at[0] == pytest.approx(39 * EVERY)
