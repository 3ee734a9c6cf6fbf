"""Whole log directories: what they hold, which segments are skipped, what lies about in them, what cannot be read."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from kfix.core.disk.logdir import find_log_dirs
from kfix.core.disk.model import Epoch, Grade
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from tests.unit.core.disk.building import NOON, Disk, batch, log, old_batch, only, read, run

CUT = "a broker that starts after a crash truncates its log here"
ORDERS = TopicPartition("orders", 0)


def test_what_a_healthy_directory_holds(disk):
    disk.partition("orders-0", run(0, 50, 0) + run(50, 80, 2), epochs={0: 0, 2: 50}, hw=70, flushed=30)
    disk.mark("log-start-offset-checkpoint", "orders-0", 10)
    disk.mark("cleaner-offset-checkpoint", "orders-0", 20)
    found = read(disk)
    [replica] = found.replicas
    assert (found.broker, found.clean, found.oddities) == (1, False, ())
    assert (replica.tp, replica.name, replica.state) == (ORDERS, "broker 1", "")
    assert (replica.log_start, replica.log_end, replica.high_watermark) == (10, 80, 70)
    assert (replica.recovery_point, replica.cleaned) == (30, 20)
    assert replica.epochs == replica.checkpoint == (Epoch(0, 0), Epoch(2, 50))
    assert replica.last_ms == NOON + 79
    (disk.path / ".kafka_cleanshutdown").touch()
    assert read(disk).clean


def test_kraft_directories_and_topic_ids(tmp_path):
    disk = Disk(tmp_path / "b3", broker=3, version=1)
    folder = disk.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: MQCO0r6DSOqpHbT1OYUzFQ\n")
    replica, odd = only(disk)
    assert (replica.broker, replica.topic_id, odd) == (3, "MQCO0r6DSOqpHbT1OYUzFQ", ())


def test_a_noted_epoch_without_records_counts_from_the_log_end_on(disk):
    disk.partition("orders-0", run(0, 40, 0), epochs={0: 0, 5: 40})
    replica, odd = only(disk)
    assert (replica.written, replica.epochs, odd) == ((Epoch(0, 0),), (Epoch(0, 0), Epoch(5, 40)), ())
    assert replica.last_epoch == 5


@pytest.mark.parametrize(
    ("raw", "epochs", "marks", "words"),
    [
        (run(0, 40, 0) + run(40, 50, 1), {0: 0}, {}, "lacks epoch 1, under which offset 40 was written"),
        (
            run(0, 40, 0) + run(40, 50, 1),
            {0: 0, 1: 45},
            {},
            "epoch 1 starts at offset 45, but in the batches",
        ),
        (run(0, 40, 0), {0: 0, 1: 60}, {}, "the log ends at 40"),
        (run(0, 40, 0), {0: 0}, {"replication-offset-checkpoint": 60}, "high watermark 60 is above the log end 40"),
        (run(0, 40, 0), {0: 0}, {"recovery-point-offset-checkpoint": 60}, "flushed records are missing"),
        (run(0, 40, 0) + run(30, 40, 0), {0: 0}, {}, "offset 30 goes back: it follows offset 39"),
        (run(0, 40, 3) + run(40, 50, 1), {3: 0}, {}, "leader epoch 1 follows epoch 3"),
    ],
)
def test_contradictions_are_reported(disk, raw, epochs, marks, words):
    disk.partition("orders-0", raw, epochs=epochs)
    for name, offset in marks.items():
        disk.mark(name, "orders-0", offset)
    _, [odd] = only(disk)
    assert odd.grade is Grade.ODD
    assert words in odd.what


def test_records_deleted_by_retention_are_no_contradiction(disk):
    disk.partition("orders-0", run(0, 40, 0) + run(40, 90, 1), epochs={1: 60})  # as after DeleteRecords
    disk.mark("log-start-offset-checkpoint", "orders-0", 60)
    replica, odd = only(disk)
    assert (replica.log_start, odd) == (60, ())


def test_a_segment_that_does_not_begin_where_its_name_states(disk):
    disk.partition("orders-0", (100, run(90, 120, 0)), epochs={0: 90})
    told = [o.what for o in only(disk)[1]]
    assert told[0] == "offset 90 in a segment that starts at 100"


def test_the_crc_of_the_last_batch_is_checked_and_of_all_when_asked(disk):
    good = batch(0, 2)
    bad = bytearray(batch(2, 2))
    bad[-2] ^= 1
    folder = disk.partition("orders-0", bytes(good + bad), epochs={0: 0})
    [odd] = only(disk)[1]
    assert (odd.at, odd.what) == (len(good), f"bad CRC of the batch of offsets 2 to 3: {CUT}")
    (folder / f"{0:020d}.log").write_bytes(bytes(good + bad + batch(4, 2)))
    assert only(disk)[1] == ()
    assert only(disk, crc=True)[1] == (odd,)


def test_many_bad_places_of_one_file_are_counted(disk):
    raw = bytearray(log(*(batch(o, 2) for o in range(0, 40, 2))))
    size = len(raw) // 20
    for number in range(20):
        raw[number * size + size - 1] ^= 1
    disk.partition("orders-0", bytes(raw), epochs={0: 0})
    odd = only(disk, crc=True)[1]
    assert len(odd) == 6
    assert odd[-1].what == "15 more such places"


def test_old_formats_are_named(disk):
    disk.partition("orders-0", old_batch(1, 0, 5), epochs={})
    replica, [odd] = only(disk)
    assert (replica.log_end, replica.epochs, odd.grade) == (5, (), Grade.NOTE)
    assert "older than Kafka 0.11" in odd.what


def test_left_overs_are_notes(disk):
    folder = disk.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    ends = ("log.deleted", "log.cleaned", "log.swap", "index.deleted", "timeindex", "snapshot", "txnindex")
    for end in ends:
        (folder / f"{5:020d}.{end}").write_bytes(b"x")
    (folder / "leader-epoch-checkpoint.tmp").touch()
    (folder / "notes.txt").touch()
    (disk.path / "replication-offset-checkpoint.tmp").touch()
    (disk.path / "backup").mkdir()
    found = read(disk)
    assert {o.grade for o in found.oddities} == {Grade.NOTE}
    names = sorted(Path(o.file).name for o in found.oddities)
    assert names == sorted(
        [f"{5:020d}.{e}" for e in ends[:4]]
        + ["leader-epoch-checkpoint.tmp", "notes.txt", "replication-offset-checkpoint.tmp", "backup"]
    )


def test_folders_with_a_suffix_have_a_state(disk):
    for name in ("orders-1.0a1b2c-delete", "orders-2.0a1b2c-future", "orders-3.xYz_-9-stray"):
        disk.partition(name, run(0, 10, 0), epochs={}, flushed=None)
    disk.partition("orders-4", run(0, 10, 0), epochs={0: 0})
    found = read(disk)
    assert [(r.tp.partition, r.state) for r in found.replicas] == [(1, "delete"), (2, "future"), (3, "stray"), (4, "")]
    assert {o.grade for o in found.oddities} == {Grade.NOTE}


def test_missing_files_are_reported(tmp_path):
    disk = Disk(tmp_path / "b", broker=None)
    disk.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    (disk.path / "replication-offset-checkpoint").unlink()
    found = read(disk)
    assert (found.broker, found.replicas[0].name) == (None, str(disk.path))
    assert [Path(o.file).name for o in found.oddities] == ["meta.properties", "replication-offset-checkpoint"]


def test_what_is_no_file_is_never_opened(disk, tmp_path):
    folder = disk.partition("orders-0", run(0, 10, 0), epochs=None)
    os.mkfifo(folder / "leader-epoch-checkpoint")
    os.mkfifo(folder / f"{10:020d}.log")
    (folder / f"{20:020d}.log").symlink_to("/dev/zero")
    (folder / f"{30:020d}.log").mkdir()
    (disk.path / "loop-1").symlink_to(disk.path)
    (disk.path / "log-start-offset-checkpoint").symlink_to(tmp_path / "nowhere")
    found = read(disk)
    unread = {Path(o.file).name: o.what for o in found.oddities if o.grade is Grade.UNREAD}
    assert unread == {
        "leader-epoch-checkpoint": "is a pipe: not opened",
        f"{10:020d}.log": "is a pipe: not opened",
        f"{20:020d}.log": "is a symbolic link: not opened",
        f"{30:020d}.log": "is a folder: not opened",
        "loop-1": "is a symbolic link: not followed",
        "log-start-offset-checkpoint": "is a symbolic link: not opened",
    }


def test_a_file_without_permission_is_reported_and_the_rest_is_read(disk, monkeypatch):
    folder = disk.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    disk.partition("orders-1", run(0, 20, 0), epochs={0: 0})
    real = os.open

    def refuse(path, *rest, **named):  # root reads everything
        if os.fspath(path).startswith(str(folder)) and str(path).endswith(".log"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", refuse)
    found = read(disk)
    [odd] = [o for o in found.oddities if o.grade is Grade.UNREAD]
    assert odd.what == "cannot be read: permission denied"
    assert found.replicas[1].log_end == 20


def test_what_a_broker_deletes_meanwhile_is_a_note(disk, monkeypatch):
    folder = disk.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    real = os.scandir

    def gone(path):
        if str(path) == str(folder):
            shutil.rmtree(folder, ignore_errors=True)
        return real(path)

    monkeypatch.setattr(os, "scandir", gone)
    found = read(disk)
    assert "was deleted while the folder was read" in {o.what for o in found.oddities}
    assert Grade.UNREAD not in {o.grade for o in found.oddities}


def test_paths_are_log_directories_or_hold_some(tmp_path):
    one, two = Disk(tmp_path / "broker-1", 1), Disk(tmp_path / "broker-2", 2)
    one.partition("orders-0", run(0, 10, 0))
    assert find_log_dirs([tmp_path]) == (one.path, two.path)
    assert find_log_dirs([one.path, tmp_path, one.path]) == (one.path, two.path)
    bare = tmp_path / "bare"
    shutil.copytree(one.path / "orders-0", bare / "orders-0")
    assert find_log_dirs([bare]) == (bare,)
    with pytest.raises(UsageError, match="folder of one partition"):
        find_log_dirs([one.path / "orders-0"])
    with pytest.raises(UsageError, match="not a log directory"):
        find_log_dirs([_empty(tmp_path)])
    with pytest.raises(UsageError, match="no such file or directory"):
        find_log_dirs([tmp_path / "absent"])
    with pytest.raises(UsageError, match="not a directory"):
        find_log_dirs([one.path / "meta.properties"])


def _empty(folder):
    (folder / "empty").mkdir()
    return folder / "empty"


def test_nothing_is_written_and_nothing_is_touched(disk):
    disk.partition("orders-0", run(0, 50, 0), epochs={0: 0}, hw=50)

    def picture():
        return {
            path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.is_file() and _sha(path))
            for path in [disk.path, *disk.path.rglob("*")]
        }

    before = picture()
    read(disk, every=True, crc=True)
    assert picture() == before


def _sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
