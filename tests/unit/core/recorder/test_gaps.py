"""What a ring says of itself: each record that is missing, and which snapshots show no change."""

from __future__ import annotations

from pathlib import Path

from kfix.core.recorder.frames import heads
from kfix.core.recorder.reading import Recording, _is_quiet
from tests.each import for_each
from tests.unit.core.recorder.test_ring import Times, flapping, record


@for_each(
    ("gone", "says"),
    [
        ((), []),
        ((3,), ["1 record is lost after record 3"]),
        ((3, 4), ["2 records are lost after record 3"]),
        ((2, 5), ["1 record is lost after record 2", "1 record is lost after record 5"]),
    ],
)
def test_each_record_that_is_missing_is_reported(tmp_path: Path, gone: tuple[int, ...], says: list[str]) -> None:
    """The records of a ring have the numbers 1 to 9; those at `gone`, counted from 0, are cut out of its file."""
    times = Times()
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, flapping(8, 5), times)
    recorder.close()
    [path] = (tmp_path / "ring").glob("*.kfr")
    data = path.read_bytes()
    places = [*heads(data)]
    assert [place.sequence for place in places] == [*range(1, 10)]
    path.write_bytes(b"".join(data[p.offset : p.end] for number, p in enumerate(places) if number not in gone))
    assert [problem.partition(" (")[0] for problem in Recording(tmp_path / "ring").problems] == says


@for_each(
    ("patch", "quiet"),
    [
        ({}, True),
        ({"taken_at": 1.0, "seconds": 0.2}, True),
        ({"sources": {"broker 1": {"seconds": 0.1}}}, True),
        ({"sources": {"broker 1": {"seconds": 0.1, "ok": False}}}, False),
        ({"sources": []}, False),
        ({"zookeeper": {"states": {}}}, False),
        ({"taken_at": 1.0, "zookeeper": {"states": {}}}, False),
        (None, False),
    ],
)
def test_a_snapshot_is_quiet_if_nothing_but_its_time_has_changed(patch: object, quiet: bool) -> None:
    assert _is_quiet(patch) is quiet
