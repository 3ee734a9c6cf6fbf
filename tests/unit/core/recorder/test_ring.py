"""The ring: bounded, whole after a kill at every write, and patient with a full disk and a clock that is set."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.errors import HeldError, UsageError
from kfix.core.recorder.folder import SegmentFiles
from kfix.core.recorder.frames import HEADER, heads
from kfix.core.recorder.patches import difference, patched
from kfix.core.recorder.reading import Recording
from kfix.core.recorder.ring import Recorder, RingBounds
from kfix.core.saved.files import encode
from kfix.core.snapshot.snapshot import Snapshot
from tests.unit.diagnostics.build import NOW, Paper

EVERY = 15.0


class Times:
    """The clock of the host, which can be set, and one that cannot."""

    def __init__(self, wall: float = NOW) -> None:
        self.now, self.steady = wall, 1000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.steady

    def pass_(self, seconds: float = EVERY) -> None:
        self.now += seconds
        self.steady += seconds

    def recorder(
        self, folder: Path, size: int = 10_000_000, hours: float = 24.0, files: SegmentFiles | None = None
    ) -> Recorder:
        bounds = RingBounds(size, hours)
        return Recorder(folder, bounds, files=files, clock=self.monotonic, wall=self.wall)


def flapping(count: int, partitions: int = 30) -> list[Snapshot]:
    """Snapshots every 15 s of a cluster in which one partition after another loses a replica and gets it back."""
    paper = Paper().topic("orders", partitions)
    made = []
    for number in range(count):
        part = paper.part("orders", number % partitions)
        part.write(leader=part.leader, isr=part.replicas[: 2 + number % 2], age=0)
        made.append(paper.snapshot(taken_at=NOW + number * EVERY))
    return made


def held(folder: Path) -> list[dict[str, object]]:
    recording = Recording(folder)
    found = [encode(r.snapshot) for r in recording.records() if r.snapshot is not None]
    assert recording.problems == []
    return found


def record(recorder: Recorder, snapshots: list[Snapshot], times: Times) -> None:
    for snapshot in snapshots:
        assert recorder.store(replace(snapshot, taken_at=times.now)), recorder.paused
        times.pass_()


def test_what_is_read_is_what_was_stored(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(20)
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, snapshots, times)
    assert held(tmp_path / "ring") == [encode(s) for s in snapshots]
    assert [h.kind.name for p in sorted((tmp_path / "ring").glob("*.kfr")) for h in heads(p.read_bytes())] == [
        "REMARK",
        "WHOLE",
        *["DIFFERENCE"] * 19,
    ]


def test_a_whole_snapshot_is_stored_again_before_a_damage_could_cost_much(tmp_path: Path) -> None:
    times = Times()
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, flapping(200), times)
    kinds = [h.kind.name for p in sorted((tmp_path / "ring").glob("*.kfr")) for h in heads(p.read_bytes())]
    assert 3 <= kinds.count("WHOLE") <= 20


def test_only_differences_are_stored(tmp_path: Path) -> None:
    times, paper = Times(), Paper().topic("orders", 500)
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, [paper.snapshot()] * 2, times)
    before = recorder.size
    record(recorder, [paper.snapshot()] * 20, times)
    assert (recorder.size - before) / 20 < 120
    assert all(r.quiet for r in [*Recording(tmp_path / "ring").records()][3:])


def test_a_simulated_day_stays_within_both_bounds_and_keeps_its_hours(tmp_path: Path) -> None:
    """With a snapshot a minute."""
    times, snapshots = Times(), flapping(60)
    recorder = times.recorder(tmp_path / "ring", size=200_000_000, hours=6.0)
    small = times.recorder(tmp_path / "small", size=75_000, hours=24.0)
    for number in range(1440):
        snapshot = replace(snapshots[number % 60], taken_at=times.now)
        assert recorder.store(snapshot)
        assert small.store(snapshot)
        times.pass_(60)
        assert sum(p.stat().st_size for p in (tmp_path / "small").glob("*.kfr")) <= 75_000
    assert 6.0 <= recorder.hours <= 6.0 * 25 / 24 + 60 / 3600
    assert sum(p.stat().st_size for p in (tmp_path / "ring").glob("*.kfr")) == recorder.size
    kept = [r.at for r in Recording(tmp_path / "ring").records() if r.snapshot is not None]
    assert {round(b - a) for a, b in pairwise(kept)} == {60}
    assert kept[-1] - kept[0] >= 6 * 3600
    assert 100 < len(held(tmp_path / "small")) < 1000


class DyingFiles(SegmentFiles):
    """Calls `died` wherever a kill may end the process: before each change, and within and after each write."""

    def __init__(self, died: Callable[[], None]) -> None:
        self.died = died
        self.removed = 0

    def create(self, path: Path) -> int:
        self.died()
        return super().create(path)

    def write(self, handle: int, data: bytes, offset: int) -> None:
        for share in (0.0, 0.5, 1.0):
            super().write(handle, data[: int(len(data) * share)], offset)
            self.died()

    def cut(self, handle: int, size: int) -> None:
        self.died()
        super().cut(handle, size)

    def sync(self, handle: int) -> None:
        self.died()
        super().sync(handle)

    def remove(self, path: Path) -> None:
        self.died()
        self.removed += 1
        super().remove(path)


def test_a_kill_at_every_write_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    times, folder, copy = Times(), tmp_path / "ring", tmp_path / "copy"
    snapshots = flapping(40, partitions=8)
    stored: list[dict[str, object]] = []

    def died() -> None:
        """Reads what a kill leaves at this moment, and goes on recording there."""
        shutil.copytree(folder, copy)
        again = times.recorder(copy, size=6_000)
        found = held(copy) if [*copy.glob("*.kfr")] else []
        # The record that was being written may be there or not; of the oldest, only what the bound gave up is missing.
        tail = found[:-1] if found and found[-1] not in stored else found
        assert tail == stored[len(stored) - len(tail) :]
        assert len(tail) >= min(len(stored), 10)
        assert again.store(replace(snapshots[0], taken_at=times.now))
        again.close()
        shutil.rmtree(copy)

    files = DyingFiles(died)
    recorder = times.recorder(folder, size=6_000, files=files)
    for snapshot in snapshots:
        assert recorder.store(replace(snapshot, taken_at=times.now))
        stored.append(encode(snapshot))
        times.pass_()
    recorder.close()
    assert files.removed


def test_a_file_cut_at_any_byte_holds_every_record_before_the_cut(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(12)
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, snapshots, times)
    recorder.close()
    [path] = (tmp_path / "ring").glob("*.kfr")
    whole = path.read_bytes()
    ends = [head.end for head in heads(whole)]
    for size in [*range(0, len(whole), 7), *ends, *(end - 1 for end in ends)]:
        copy = tmp_path / "copy"
        copy.mkdir(mode=0o700)
        (copy / path.name).write_bytes(whole[:size])
        recorder = times.recorder(copy)
        assert recorder.size == max((end for end in ends if end <= size), default=0)
        recorder.close()
        shutil.rmtree(copy)


def test_a_record_that_is_too_large_for_the_bound_pauses_the_recording(tmp_path: Path) -> None:
    times = Times()
    recorder = times.recorder(tmp_path / "ring", size=4000)
    assert not recorder.store(Paper().topic("orders", 900).snapshot())
    assert "larger than a quarter of the bound" in recorder.paused


@pytest.mark.parametrize("step", [-7200.0, -5.0, 9000.0, 365 * 86_400.0])
def test_a_clock_that_is_set_deletes_nothing_and_keeps_the_order(tmp_path: Path, step: float) -> None:
    times, snapshots = Times(), flapping(40)
    recorder = times.recorder(tmp_path / "ring", hours=1.0)
    record(recorder, snapshots[:20], times)
    times.now += step
    record(recorder, snapshots[20:], times)
    records = [*Recording(tmp_path / "ring").records()]
    remarks = [r.text for r in records if r.what == "clock"]
    assert len(remarks) == 1
    assert f"{abs(step):.0f} s" in remarks[0]
    at = [r.at for r in records if r.snapshot is not None]
    assert len(at) == 40
    assert {round(b - a) for a, b in pairwise(at)} == {15}
    assert at[-1] == pytest.approx(times.now - EVERY)


def test_the_order_survives_a_clock_that_was_set_back_while_no_watch_ran(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(20)
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, snapshots[:10], times)
    recorder.close()
    times.now -= 3600
    times.steady = 5.0
    record(times.recorder(tmp_path / "ring"), snapshots[10:], times)
    at = [r.at for r in Recording(tmp_path / "ring").records() if r.snapshot is not None]
    assert at == sorted(at)
    assert len(at) == 20


def test_time_without_a_watch_makes_no_record_old(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(20)
    recorder = times.recorder(tmp_path / "ring", hours=0.1)
    record(recorder, snapshots[:10], times)
    recorder.close()
    times.now += 90 * 86_400
    record(times.recorder(tmp_path / "ring", hours=0.1), snapshots[10:], times)
    assert len(held(tmp_path / "ring")) == 20


def test_a_period_is_read_without_the_rest(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(40)
    recorder = times.recorder(tmp_path / "ring", size=200_000)
    record(recorder, snapshots, times)
    since, until = NOW + 20 * EVERY, NOW + 30 * EVERY
    found = [r for r in Recording(tmp_path / "ring").records(since, until) if r.snapshot is not None]
    assert [r.at for r in found] == [NOW + n * EVERY for n in range(20, 31)]
    assert encode(found[0].snapshot) == encode(snapshots[20])  # type: ignore[arg-type]


def test_a_second_watch_is_refused_and_names_the_first(tmp_path: Path) -> None:
    times = Times()
    first = times.recorder(tmp_path / "ring")
    with pytest.raises(HeldError, match=rf"another watch records there \(process {os.getpid()}\)"):
        times.recorder(tmp_path / "ring")
    first.close()
    times.recorder(tmp_path / "ring").close()


def test_another_cluster_is_refused(tmp_path: Path) -> None:
    times = Times()
    paper = Paper().topic("orders", 3).snapshot()
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, [paper], times)
    recorder.close()
    again = times.recorder(tmp_path / "ring")
    other = replace(paper, cluster=replace(paper.cluster, id="other"))
    with pytest.raises(UsageError, match="holds a recording of cluster paper, this cluster is other"):
        again.store(other)


def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    tmp_path.chmod(0o755)
    with pytest.raises(UsageError, match=r"not the folder of a recorder: it contains 'diary\.txt'"):
        Times().recorder(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_damage_in_the_middle_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    times, snapshots = Times(), flapping(60)
    recorder = times.recorder(tmp_path / "ring", size=100_000)
    record(recorder, snapshots, times)
    recorder.close()
    path = min((tmp_path / "ring").glob("*.kfr"))
    data = bytearray(path.read_bytes())
    third = [*heads(bytes(data))][2]
    data[third.offset + HEADER + 3] ^= 0xFF
    path.write_bytes(bytes(data))
    recording = Recording(tmp_path / "ring")
    found = [encode(r.snapshot) for r in recording.records() if r.snapshot is not None]
    assert recording.problems
    stored = [encode(snapshot) for snapshot in snapshots]
    assert all(each in stored for each in found)
    assert len(found) >= 20
    assert len(found) < 60


def test_random_bytes_are_no_recording(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(200):
        (tmp_path / "segment-000000000001.kfr").write_bytes(b"KFR1" + chance.randbytes(number * 3))
        with pytest.raises(UsageError, match="holds no intact record"):
            Recording(tmp_path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text("ab#01", max_size=2), inner, max_size=5),
    max_leaves=30,
)
_OBJECTS = st.dictionaries(st.text("abc", max_size=2), _JSON, max_size=6)


@settings(max_examples=50)
@given(_OBJECTS, _OBJECTS)
def test_a_difference_makes_the_later_value_of_the_earlier_one(before: object, after: object) -> None:
    patch = difference(before, after)
    made = before if patch is None else patched(before, patch)
    assert made == after
    assert (patch is None) == (before == after)
