"""The log directory that is written for the only voter: whole, verified, at once, and nothing else is touched."""

import json

import pytest

from kfix.core.metadata import seed
from kfix.core.metadata.copies import copies_read
from kfix.core.metadata.seed import NotWrittenError, write_log
from kfix.core.snapshot.recovery import NewLog, is_written
from tests.unit.core.disk.building import batch
from tests.unit.inspect.test_metadata_report import BASE, LATER, copy_of, topic

STATIC = batch(0, epoch=1, pairs=[topic("orders", bytes(16))])
STATE = {"leaderId": -1, "leaderEpoch": 7, "votedId": 3, "currentVoters": [{"voterId": n} for n in (1, 2, 3)]}
FENCE = 100_007


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def wanted(folder, end, epoch=4):
    return NewLog(str(folder / "new"), str(folder / "disks/n11"), 3, epoch, end, FENCE)


def files(folder):
    return {each.relative_to(folder): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_a_log_that_names_its_voters_gets_one_more_record_in_the_fences_epoch(tmp_path):
    copy_of(11, BASE + LATER)
    before = files(tmp_path / "disks")
    order = wanted(tmp_path, 6)
    write_log(order)
    [made] = copies_read([tmp_path / "new"])
    assert (made.node, made.voters, made.epoch, made.end, made.unread) == (3, (3,), FENCE, 7, "")
    assert is_written(made, order)
    assert files(tmp_path / "disks") == before
    log = (tmp_path / "new/__cluster_metadata-0" / f"{0:020d}.log").read_bytes()
    assert log.startswith(BASE + LATER)
    assert b"c3" in log[len(BASE + LATER) :], "the address of the voter is kept"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_records_that_came_after_the_plan_are_left_out(tmp_path):
    copy_of(11, BASE + LATER)
    write_log(wanted(tmp_path, 2, epoch=1))
    [made] = copies_read([tmp_path / "new"])
    assert (made.end, made.epoch) == (3, FENCE)


def test_static_voters_are_named_beside_the_log_by_one_who_has_not_voted(tmp_path):
    copy_of(11, STATIC, state=STATE)
    write_log(wanted(tmp_path, 1, epoch=1))
    state = json.loads((tmp_path / "new/__cluster_metadata-0/quorum-state").read_text())
    assert (state["leaderEpoch"], state["votedId"], state["currentVoters"]) == (FENCE, -1, [{"voterId": 3}])
    [made] = copies_read([tmp_path / "new"])
    assert (made.voters, made.seen_epoch, made.end) == ((3,), FENCE, 1)


def test_each_new_log_directory_has_an_id_of_its_own(tmp_path):
    copy_of(11, BASE + LATER)
    order = wanted(tmp_path, 6)
    write_log(order)
    write_log(order._replace(into=str(tmp_path / "again")))
    metas = {(tmp_path / name / "meta.properties").read_text() for name in ("new", "again")}
    assert len(metas) == 2
    assert all("node.id=3\n" in each and "directory.id=" in each for each in metas)


def test_what_exists_is_never_written_over(tmp_path):
    copy_of(11, BASE + LATER)
    (tmp_path / "new").mkdir()
    with pytest.raises(NotWrittenError, match="exists already"):
        write_log(wanted(tmp_path, 6))


@pytest.mark.parametrize(
    ("raw", "end", "why"),
    [
        (BASE + LATER[:-1] + b"\xff", 6, "the batch at offset 5 is damaged"),
        (BASE + LATER[len(LATER) // 2 :], 6, "ends at offset 2, not at 6"),
        (BASE[: len(BASE) // 2] + LATER, 6, "ends at offset 0|damaged or missing"),
        (BASE, 6, "ends at offset 2, not at 6"),
    ],
)
def test_a_log_that_is_not_whole_is_not_copied_and_nothing_is_left(tmp_path, raw, end, why):
    copy_of(11, raw)
    with pytest.raises(NotWrittenError, match=why):
        write_log(wanted(tmp_path, end))
    assert [each.name for each in tmp_path.iterdir()] == ["disks"]


def test_a_log_directory_that_reads_back_otherwise_is_not_put_in_place(tmp_path, monkeypatch):
    copy_of(11, BASE + LATER)
    monkeypatch.setattr(seed, "voters_batch", lambda *_: b"")
    with pytest.raises(NotWrittenError, match="not what was wanted"):
        write_log(wanted(tmp_path, 6))
    assert not (tmp_path / "new").exists()
