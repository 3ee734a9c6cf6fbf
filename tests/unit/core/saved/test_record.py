"""The file of one saved record: read back byte for byte, private, never overwritten, refused where it was changed."""

import json

import pytest

from kfix.core.errors import UsageError
from kfix.core.saved.record import encode_record, read_record, write_record
from kfix.core.snapshot.offsets import LoggedRecord
from kfix.core.snapshot.snapshot import TopicPartition

HEADERS = ((b"trace", b"\x00\xff"), (b"trace", None), (b"\xff", b""))
RECORD = LoggedRecord(TopicPartition("or-ders", 3), 33, 7, 1_790_000_000_000, True, None, bytes(range(256)), HEADERS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "record.json"
    write_record(encode_record(RECORD, "cluster", "0.1.0"), path)
    return path


def test_every_byte_is_read_back_from_a_private_file(file):
    assert read_record(file) == RECORD
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_or_a_link_that_exists_is_not_overwritten(file, tmp_path):
    before, link = file.read_bytes(), tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    for path in (file, link):
        with pytest.raises(UsageError, match="cannot be written"):
            write_record({}, path)
    assert (file.read_bytes(), (tmp_path / "elsewhere.json").exists()) == (before, False)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("offset", 34, "its content has changed"),
        ("value", "AAAA", "its content has changed"),
        ("headers", [], "its content has changed"),
        ("format", "kfix.offsets", "format"),
        ("version", 2, "version"),
        ("value", "no base64!", "value"),
    ],
)
def test_a_file_that_was_changed_is_refused_in_one_line(file, key, value, words):
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(UsageError, match=words):
        read_record(file)


def test_a_file_that_is_not_one_is_refused(tmp_path):
    for text in ("", "{", "[]"):
        path = tmp_path / "other.json"
        path.write_text(text)
        with pytest.raises(UsageError, match=r"other\.json"):
            read_record(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_record(tmp_path / "missing.json")
