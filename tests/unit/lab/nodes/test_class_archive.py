"""The class data archive of a lab's Java: which flags it gives, who makes it, and what is never used."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kfix.lab.nodes.archive_maker import main
from kfix.lab.nodes.class_archive import class_archive, find, list_file, with_size

JARS = "/somewhere/kafka.jar"
# Stands in for Java: it writes the archive that it is told to, from the list, and exits as it is told to.
JAVA = """#!/bin/sh
echo called >> "{folder}/calls"
for word in "$@"; do case "$word" in
  -XX:SharedClassListFile=*) list="${{word#*=}}";;
  -XX:SharedArchiveFile=*) cat "$list" > "${{word#*=}}";;
esac; done
exit {code}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KFIX_LAB_ARCHIVE", raising=False)
    return tmp_path / "cache" / "kfix"


@pytest.fixture
def java(tmp_path):
    return a_java(tmp_path)


def a_java(tmp_path, code=0):
    home = tmp_path / "jvm" / "bin"
    home.mkdir(parents=True, exist_ok=True)
    (home.parent / "release").write_text('JAVA_VERSION="17.0.15"\n')
    program = home / "java"
    program.write_text(JAVA.format(folder=tmp_path, code=code))
    program.chmod(0o755)
    return str(program)


def calls(tmp_path):
    file = tmp_path / "calls"
    return len(file.read_text().splitlines()) if file.exists() else 0


def made(archive, size=7):
    path = with_size(archive.stem, size)
    path.write_bytes(b"x" * size)
    return path


def run_maker(archive, classes):
    """As the lab does it, but awaited."""
    return main(archive.stem, [archive.java, "-Xshare:dump", f"-XX:SharedClassListFile={classes}"])


@pytest.fixture(autouse=True)
def usual_priority(monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _: 0)


def test_without_an_archive_the_first_process_of_a_role_writes_its_classes(java, tmp_path):
    archive = class_archive(java, JARS)
    assert archive.flags(list_file(tmp_path, "broker"))[-1] == f"-XX:DumpLoadedClassList={tmp_path}/broker.classes"
    assert archive.flags(None) == ()


def test_an_archive_is_used_by_all(java, tmp_path):
    archive = class_archive(java, JARS)
    path = made(archive)
    assert archive.flags(None) == archive.flags(tmp_path / "x")
    assert archive.flags(None)[-1] == f"-XX:SharedArchiveFile={path}"


def test_a_truncated_archive_is_never_used(java):
    archive = class_archive(java, JARS)
    made(archive).write_bytes(b"xxx")
    assert archive.flags(None) == ()
    assert find(archive.stem) is None


def test_another_java_or_other_jars_have_another_archive(java):
    archive = class_archive(java, JARS)
    made(archive)
    assert class_archive(java, JARS).flags(None)
    assert not class_archive(java, f"{JARS}:more.jar").flags(None)
    Path(java).parents[1].joinpath("release").write_text('JAVA_VERSION="17.0.16"\n')
    assert not class_archive(java, JARS).flags(None)


def test_the_variable_disables_it(java, monkeypatch, tmp_path):
    made(class_archive(java, JARS))
    monkeypatch.setenv("KFIX_LAB_ARCHIVE", "0")
    assert class_archive(java, JARS).flags(tmp_path / "x") == ()


def test_a_folder_that_others_may_write_to_is_not_used(java, cache, tmp_path):
    cache.mkdir(parents=True)
    archive = class_archive(java, JARS)
    made(archive)
    cache.chmod(0o777)
    assert class_archive(java, JARS).flags(tmp_path / "x") == ()


def test_a_folder_that_cannot_be_made_is_no_archive_and_no_error(java, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert class_archive(java, JARS).flags(tmp_path / "x") == ()


def test_the_lists_of_all_roles_are_one_without_comments_doubles_and_a_half_written_line(java, tmp_path, monkeypatch):
    list_file(tmp_path, "broker").write_text("# made by Java\njava/lang/Object id: 0\nkafka/Kafka id: 1\nkafka/serv")
    list_file(tmp_path, "controller").write_text("java/lang/Object id: 0\nkafka/Raft id: 1\n")
    spawned = []
    monkeypatch.setattr(
        "kfix.lab.nodes.class_archive.LOOPBACK", type("Host", (), {"spawn": lambda *w: spawned.append(w)})()
    )
    class_archive(java, JARS).make(tmp_path, "ab12", tmp_path / "log")
    ((_, command, log),) = spawned
    assert log == tmp_path / "log"
    # Both processes can be found, and ended, by the lab's id.
    assert command[1:3] == ["-X", "kfix.lab.id=ab12"]
    assert "-Dkfix.lab.id=ab12" in command
    assert command[-2:] == ["-cp", JARS]
    listed = next(word for word in command if word.startswith("-XX:SharedClassListFile=")).partition("=")[2]
    assert Path(listed).read_text() == "java/lang/Object id: 0\nkafka/Kafka id: 1\nkafka/Raft id: 1\n"


@pytest.mark.parametrize("why", ["there", "no lists"])
def test_nothing_is_started_if_there_is_nothing_to_make(java, tmp_path, monkeypatch, why):
    archive = class_archive(java, JARS)
    if why == "there":
        list_file(tmp_path, "broker").write_text("java/lang/Object id: 0\n")
        made(archive)
    monkeypatch.setattr("kfix.lab.nodes.class_archive.LOOPBACK", None)
    archive.make(tmp_path, "ab12", tmp_path / "log")


def test_a_lab_that_is_up_does_not_fail_if_its_archive_cannot_be_made(java, tmp_path):
    list_file(tmp_path, "broker").write_text("java/lang/Object id: 0\n")
    (tmp_path / "classes").mkdir()  # no file can be written there
    class_archive(java, JARS).make(tmp_path, "ab12", tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_the_maker_gives_an_archive_its_name_once_it_is_whole(java, tmp_path):
    (tmp_path / "classes").write_text("kafka/Kafka id: 1\n")
    archive = class_archive(java, JARS)
    assert run_maker(archive, tmp_path / "classes") == 0
    assert find(archive.stem).read_text() == "kafka/Kafka id: 1\n"
    assert run_maker(archive, tmp_path / "classes") == 0
    assert calls(tmp_path) == 1
    assert [each.suffix for each in sorted(archive.stem.parent.iterdir())] == [".jsa", ".lock"]


def test_a_dump_that_failed_leaves_no_archive(tmp_path):
    (tmp_path / "classes").write_text("kafka/Kafka id: 1\n")
    archive = class_archive(a_java(tmp_path, code=1), JARS)
    assert run_maker(archive, tmp_path / "classes") == 1
    assert [each.suffix for each in archive.stem.parent.iterdir()] == [".lock"]


def test_two_makers_do_not_work_at_once_and_a_killed_one_is_in_nobodys_way(java, tmp_path):
    (tmp_path / "classes").write_text("kafka/Kafka id: 1\n")
    archive = class_archive(java, JARS)
    archive.stem.with_suffix(".tmp").write_text("half of one")
    with archive.stem.with_suffix(".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert run_maker(archive, tmp_path / "classes") == 0
        assert find(archive.stem) is None
    assert run_maker(archive, tmp_path / "classes") == 0
    assert find(archive.stem).read_text() == "kafka/Kafka id: 1\n"


def test_the_maker_is_a_command_of_its_own(java, tmp_path):
    (tmp_path / "classes").write_text("kafka/Kafka id: 1\n")
    archive = class_archive(java, JARS)
    command = [sys.executable, "-m", "kfix.lab.nodes.archive_maker", archive.stem, java]
    done = subprocess.run(
        [*command, f"-XX:SharedClassListFile={tmp_path}/classes"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert find(archive.stem) is not None
