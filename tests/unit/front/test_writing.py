"""An output file is old or new, never half; a mistake is one line."""

import os
import stat

import pytest

from kfix.core.errors import UsageError
from kfix.front import writing
from kfix.front.writing import write_output


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path):
    path = tmp_path / "kfix.prom"
    before = os.umask(0o077)
    try:
        write_output("a\r\n", str(path))
    finally:
        os.umask(before)
    assert path.read_bytes() == b"a\r\n"
    assert mode(path) == 0o600
    path.chmod(0o640)
    write_output("b \ud800", str(path))
    assert path.read_bytes() == b"b \\ud800"
    assert mode(path) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["kfix.prom"]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_output("x", str(link))
    assert link.is_symlink()
    assert target.read_text() == "x"


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device; the old file is unchanged"):
        write_output("new", str(path))
    assert path.read_text() == "old"
    with pytest.raises(UsageError, match="cannot be written"):
        write_output("new", str(tmp_path / "other.json"))
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"], "half of a new file is left"


def test_a_missing_folder_and_a_folder_are_refused(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        write_output("x", str(tmp_path / "none" / "x"))
    with pytest.raises(UsageError, match="is a folder"):
        write_output("x", str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        write_output("x", str(tmp_path / "file" / "x"))


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(writing.os, "open", forbidden)
    with pytest.raises(UsageError, match="cannot be written: Permission denied"):
        write_output("x", str(tmp_path / "x"))


def test_a_dash_is_standard_output_and_a_device_is_written_through(capsys):
    write_output("text", "-")
    assert capsys.readouterr().out == "text\n"
    write_output("text", "/dev/null")
