"""A ring of which one file is damaged, as a disk or a power failure leaves it."""

from __future__ import annotations

import copy
import random
import shutil
from pathlib import Path

import pytest

from kfix.core.recorder.frames import HEADER, RecordKind, framed, heads
from kfix.core.recorder.reading import Recording
from tests.each import for_each
from tests.unit.core.recorder.test_ring import Times, flapping, record

DAMAGES = {
    "bytes of something else": lambda data: random.Random(5).randbytes(len(data)),
    "its first half gone": lambda data: bytes(len(data) // 2) + data[len(data) // 2 :],
    "its second half gone": lambda data: data[: len(data) // 2],
    "nothing left": lambda _: b"",
    "zeros, as a power failure leaves what was not synced": lambda data: bytes(len(data)),
}


SNAPSHOTS = 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Times]:
    """A ring, and the time at which the recorder closed it."""
    times, ring = Times(), tmp_path_factory.mktemp("whole") / "ring"
    recorder = times.recorder(ring, hours=1.0)
    record(recorder, flapping(SNAPSHOTS, partitions=6), times)
    recorder.close()
    return ring, times


@for_each("which", [0, 2, -1])
@for_each("damage", DAMAGES)
def test_whatever_is_lost_of_one_file_is_reported_and_costs_no_other(
    tmp_path: Path, whole: tuple[Path, Times], damage: str, which: int
) -> None:
    """The ring is read, opened for writing and read again; no byte that could still be read is deleted."""
    kept, closed = whole
    times, ring = copy.copy(closed), shutil.copytree(kept, tmp_path / "ring")
    files = sorted(ring.glob("*.kfr"))
    assert len(files) >= 5
    file = files[which]
    inside = sum(head.kind != 3 for head in heads(file.read_bytes()))
    broken = DAMAGES[damage](file.read_bytes())
    file.write_bytes(broken)
    before = Recording(ring)
    found = sum(r.snapshot is not None for r in before.records())
    assert SNAPSHOTS - inside <= found < SNAPSHOTS
    # An empty file may be the oldest one, whose records the bounds have deleted. The end of the last file may be a
    # record that is being written.
    assert before.problems or which == -1 or (which == 0 and not broken)
    recorder = times.recorder(ring, hours=1.0)
    record(recorder, flapping(3, partitions=6), times)
    recorder.close()
    assert file.exists() == any(broken) or which == -1
    after = Recording(ring)
    assert sum(r.snapshot is not None for r in after.records()) == found + 3
    assert after.problems or which != 2


@pytest.mark.parametrize(
    "at", [5, 13, 21, HEADER - 1, HEADER], ids=["sequence", "at", "recorded", "checksum", "content"]
)
def test_a_record_of_which_one_bit_is_wrong_is_passed_over(at: int) -> None:
    first, second = (framed(RecordKind.REMARK, n, 5.0, 1.0, {"what": "began", "text": ""}) for n in (1, 2))
    damaged = bytearray(first)
    damaged[at] ^= 1
    assert [head.sequence for head in heads(bytes(damaged) + second)] == [2]
