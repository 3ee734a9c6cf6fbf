"""Which segments of a log are walked, and how the records behind an offset are counted."""

from kfix.core.disk.model import Epoch
from kfix.core.disk.segments import read_tails
from tests.unit.core.disk.building import NOON, batch, log, only, run


def test_segments_without_anything_new_are_skipped(disk):
    parts = [(o, run(o, o + 100, 0 if o < 500 else 4)) for o in range(0, 1000, 100)]
    parts[2] = (200, run(200, 300, 0)[:-5])
    disk.partition("orders-0", *parts, epochs={0: 0, 4: 500}, flushed=900)
    replica, odd = only(disk)
    assert (replica.segments, replica.walked) == (10, 2)
    assert (replica.epochs, replica.log_end, odd) == ((Epoch(0, 0), Epoch(4, 500)), 1000, ())
    everything, [torn] = only(disk, every=True)
    assert (everything.walked, everything.epochs, everything.log_end) == (10, replica.epochs, 1000)
    assert (torn.file, torn.at) == (str(disk.path / "orders-0" / f"{200:020d}.log"), len(run(200, 290, 0)))
    disk.mark("recovery-point-offset-checkpoint", "orders-0", 250)
    assert torn in only(disk)[1], "what was not flushed is walked: there a crash leaves its mark"


def test_an_epoch_that_changes_inside_an_old_segment_is_found(disk):
    disk.partition("orders-0", log(run(0, 40, 0), run(40, 60, 3)), (60, run(60, 90, 3)), (90, b""), flushed=90)
    replica, [odd] = only(disk)
    assert (replica.epochs, replica.log_end) == ((Epoch(0, 0), Epoch(3, 40)), 90)
    assert odd.what == "is missing, although the batches have leader epochs"


def test_tails_are_counted_over_segments_and_not_guessed(disk):
    parts = [(o, run(o, o + 100, 0, size=7)) for o in range(0, 400, 100)]
    folder = disk.partition("orders-0", *parts, epochs={0: 0})
    tails = read_tails(folder, [0, 150, 395], 120, 400)
    assert {point: (t.start, t.end, t.records) for point, t in tails.items()} == {
        0: (120, 400, 280),
        150: (150, 400, 250),
        395: (395, 400, 5),
    }
    assert tails[395].size == len(batch(391, 7)) + len(batch(398, 2))
    assert tails[150].last_ms == NOON + 399
    (folder / f"{200:020d}.log").write_bytes(parts[2][1][:-3])
    torn = read_tails(folder, [150, 395], 0, 400)
    assert (torn[150].records, torn[150].end) == (None, 400)
    assert read_tails(folder, [395], 0, 400)[395].records == 5
    assert read_tails(disk.path / "absent-0", [0], 0, 9) == {}


def test_an_epoch_that_falls_from_one_segment_to_the_next_is_reported(disk):
    disk.partition("orders-0", run(0, 50, 4), (50, run(50, 90, 2, size=40)), epochs={4: 0})
    _, [odd] = only(disk)
    assert (odd.at, odd.what) == (0, "leader epoch 2 follows epoch 4")
