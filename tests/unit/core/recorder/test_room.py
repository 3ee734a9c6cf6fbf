"""What a ring keeps: the newest records, each synced before its call returns, within the bounds of bytes and hours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kfix.core.recorder.folder import SegmentFiles
from kfix.core.recorder.reading import Recording
from tests.unit.core.recorder.test_ring import Times, flapping


class Watched(SegmentFiles):
    """Lists what is done to the files."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def write(self, handle: int, data: bytes, offset: int) -> None:
        self.done.append("write")
        super().write(handle, data, offset)

    def sync(self, handle: int) -> None:
        self.done.append("sync")
        super().sync(handle)


def test_each_record_is_synced_before_its_call_returns(tmp_path: Path) -> None:
    times, files = Times(), Watched()
    recorder = times.recorder(tmp_path / "ring", files=files)
    for snapshot in flapping(5):
        assert recorder.store(replace(snapshot, taken_at=times.now))
        assert files.done[-2:] == ["write", "sync"]
        times.pass_()
    recorder.remark("what", "text")
    assert files.done == ["write", "sync"] * 7


def kept(folder: Path) -> list[float]:
    return [record.at for record in Recording(folder).records() if record.snapshot is not None]


def test_without_room_the_oldest_records_go_and_none_of_the_others(tmp_path: Path) -> None:
    times, snapshots, stored = Times(), flapping(20, 5), []
    recorder = times.recorder(tmp_path / "ring", size=20_000)
    for number in range(100):
        stored.append(times.now)
        assert recorder.store(replace(snapshots[number % 20], taken_at=times.now))
        assert recorder.size <= 20_000
        times.pass_(60)
    found = kept(tmp_path / "ring")
    assert 20 < len(found) < 100
    assert found == stored[-len(found) :]


def test_what_is_older_than_the_bound_of_hours_goes_and_nothing_younger(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(20, 5)
    recorder = times.recorder(tmp_path / "ring", hours=1.0)
    for number in range(90):
        assert recorder.store(replace(snapshots[number % 20], taken_at=times.now))
        times.pass_(60)
    found = kept(tmp_path / "ring")
    assert 60 <= len(found) <= 66
    assert found[-1] == times.now - 60
