"""The ring on a full disk: nothing that is stored is lost, remarks wait, and recording continues when it can."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kfix.core.recorder.folder import SegmentFiles, segments
from kfix.core.recorder.reading import Recording
from kfix.core.recorder.ring import MOST_WAITING
from kfix.core.saved.files import encode
from tests.unit.core.recorder.test_ring import EVERY, Times, flapping, held, record


class Full(SegmentFiles):
    """A disk that has no space for a while; a write gets as far as it can."""

    def __init__(self) -> None:
        self.full = False
        self.removed = 0

    def write(self, handle: int, data: bytes, offset: int) -> None:
        if self.full:
            super().write(handle, data[: len(data) // 2], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, data, offset)

    def remove(self, path: Path) -> None:
        self.removed += 1
        super().remove(path)


def test_a_full_disk_pauses_the_recording_and_loses_nothing(tmp_path: Path) -> None:
    times, snapshots, disk = Times(), flapping(30), Full()
    recorder = times.recorder(tmp_path / "ring", files=disk)
    record(recorder, snapshots[:10], times)
    disk.full = True
    for snapshot in snapshots[10:20]:
        assert not recorder.store(replace(snapshot, taken_at=times.now))
        assert "no space left on device" in recorder.paused
        assert sum(path.stat().st_size for path in segments(tmp_path / "ring")) == recorder.size, "a part of it is left"
        times.pass_()
    assert held(tmp_path / "ring") == [encode(s) for s in snapshots[:10]]
    disk.full = False
    record(recorder, snapshots[20:], times)
    assert recorder.paused == ""
    assert held(tmp_path / "ring") == [encode(s) for s in (*snapshots[:10], *snapshots[20:])]
    assert disk.removed == 0


@pytest.mark.parametrize(("more", "text"), [(1, "1 remark of the watch is"), (7, "7 remarks of the watch are")])
def test_remarks_wait_for_space_with_their_times_and_more_than_fit_are_counted(
    tmp_path: Path, more: int, text: str
) -> None:
    times, [snapshot], disk = Times(), flapping(1), Full()
    recorder = times.recorder(tmp_path / "ring", files=disk)
    record(recorder, [snapshot], times)
    disk.full = True
    began = times.now
    for number in range(MOST_WAITING + more):
        recorder.remark("lost", f"refused {number}")
        assert "no space left on device" in recorder.paused
        times.pass_()
    disk.full = False
    assert recorder.write_waiting()
    assert recorder.paused == ""
    _, _, *found = Recording(tmp_path / "ring").records()
    dropped = [r.text for r in found if r.what == "dropped"]
    assert dropped == [f"{text} missing here: at most 1000 wait for space on the disk"]
    lost = [r for r in found if r.what == "lost"]
    assert [r.text for r in lost] == [f"refused {number}" for number in range(more, MOST_WAITING + more)]
    assert lost[0].at == pytest.approx(began + more * EVERY)
    assert {round(b.at - a.at) for a, b in pairwise(lost)} == {15}
    record(recorder, [snapshot], times)
    assert held(tmp_path / "ring") == [encode(snapshot), {**encode(snapshot), "taken_at": times.now - EVERY}]


def test_remarks_that_waited_for_hours_begin_no_segment_each(tmp_path: Path) -> None:
    times, [snapshot], disk = Times(), flapping(1), Full()
    recorder = times.recorder(tmp_path / "ring", hours=48.0, files=disk)
    record(recorder, [snapshot], times)
    disk.full = True
    for number in range(300):
        times.pass_(60)
        recorder.remark("lost", f"refused {number}")
    disk.full = False
    record(recorder, [snapshot], times)
    assert len([*(tmp_path / "ring").glob("segment-*")]) <= 4


def test_a_disk_that_is_full_for_hours_at_the_start_of_a_segment_is_recorded_on_again(tmp_path: Path) -> None:
    times, [snapshot], disk = Times(), flapping(1), Full()
    recorder = times.recorder(tmp_path / "ring", hours=24.0, files=disk)
    record(recorder, [snapshot], times)
    disk.full = True
    for _ in range(5):
        times.pass_(3600)
        assert not recorder.store(replace(snapshot, taken_at=times.now))
        assert "no space left on device" in recorder.paused
    disk.full = False
    record(recorder, [snapshot], times)
    assert len(held(tmp_path / "ring")) == 2
