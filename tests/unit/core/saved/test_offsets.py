"""The file of saved offsets: read back as it was written, private, and refused where it is damaged."""

import json

import pytest

from kfix.core.errors import UsageError
from kfix.core.saved.offsets import read_offsets, write_offsets
from kfix.core.snapshot.offsets import LoggedOffset, SavedGroup, SavedOffsets, SavedSource, StoredOffset
from kfix.core.snapshot.snapshot import TopicPartition

SOURCE = SavedSource(3, "replica", "broker 2", 0, 8, 10, ("records 8 to 9 are not served",), ("mail",))
OFFSETS = {
    TopicPartition("orders", n): LoggedOffset(StoredOffset(40 + n, n, "a \u2028note"), 1_790_000_000_000)
    for n in (0, 1)
}
SAVED = SavedOffsets(1_790_000_000.5, "0.1.0", "cluster", (SOURCE,), (SavedGroup("payments", 3, OFFSETS),))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "offsets.json"
    write_offsets(SAVED, path)
    return path


def test_the_file_is_read_back_as_it_was_written_and_is_private(file):
    assert read_offsets(file) == SAVED
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["complete"] is False
    assert [each.name for each in file.parent.iterdir()] == ["offsets.json"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"kfix.offsets"', '"kfix.snapshot"', "format"),
        ('"version": 1', '"version": 2', "version"),
        ('"offset": 40', '"offset": -1', "out of range"),
        ('"partition": 1', '"partition": 0', "orders-0 is listed more than once"),
        ('"topic": "orders"', '"topic": "a/b"', "topic"),
        ('"leader_epoch": 0', '"leader": 0', "unknown field"),
        ("]\n}", "]", "offsets.json:"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(file, old, new, words):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=words) as refused:
        read_offsets(file)
    assert "kfix offsets save" in refused.value.hint


def test_a_group_twice_is_refused(file):
    data = json.loads(file.read_text())
    data["groups"] *= 2
    file.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="'payments' is listed more than once"):
        read_offsets(file)


def test_no_file_and_no_folder_are_one_clear_line(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_offsets(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be written"):
        write_offsets(SAVED, tmp_path / "none" / "offsets.json")
