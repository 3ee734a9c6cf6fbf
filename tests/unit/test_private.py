"""What kfix keeps is its user's alone: no link is followed, no stranger's file is written, and no umask matters."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from kfix.core.errors import LabError, RefusedError, UsageError
from kfix.core.private import NotPrivateError, new_private, open_private, private_folder, write_private
from kfix.core.saved.files import write_whole
from kfix.core.saved.store import SnapshotStore
from kfix.core.snapshot.snapshot import ClusterIdentity, Mode, Snapshot
from kfix.fleet.store.places import place_of, write_bytes
from kfix.fleet.store.storelock import store_lock
from kfix.heal.execution.locks import cluster_lock
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.model.plan import Plan
from kfix.lab.definition.store import Store
from tests.unit.heal.stage import Stage

HOLDER = {"user": "anna"}
UMASKS = [0o000, 0o077, 0o777]
PRECIOUS = "do not touch\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@cache
def plan() -> Plan:
    return Stage("coordinator-stuck", Path("unused")).plan()


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    file = tmp_path / "victim"
    file.write_text(PRECIOUS)
    return file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "state" / "kfix"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def somebody_elses(path: Path) -> Path:
    os.chown(path, 65534, 65534)
    return path


def lock_of(home: Path) -> Path:
    return home / "locks" / "prod.lock"


def take(home: Path) -> None:
    with cluster_lock(home / "locks", "prod", HOLDER):
        pass


def plant(home: Path, victim: Path, how: str) -> None:
    private_folder(home / "locks", home)
    link = lock_of(home)
    if how == "symbolic link":
        link.symlink_to(victim)
    elif how == "dangling link":
        link.symlink_to(victim.with_name("not-yet"))
    elif how == "hard link":
        link.hardlink_to(victim)
    elif how == "pipe":
        os.mkfifo(link)
    elif how == "socket":
        # The address of a socket has at most 107 characters.
        with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(link.parent):
            listening.bind(link.name)
    elif how == "folder":
        link.mkdir()
    elif how == "file of somebody else":
        link.touch()
        somebody_elses(link)
    elif how == "file that others may write":
        link.touch()
        link.chmod(0o666)


PLANTED = {
    "symbolic link": "it is a symbolic link, and kfix follows none here: remove it",
    "dangling link": "it is a symbolic link, and kfix follows none here: remove it",
    "hard link": "the file has 2 names (hard links): remove this one",
    "pipe": "it is not a plain file: remove it",
    "socket": "it is not a plain file: remove it",
    "folder": "Is a directory",
    "file of somebody else": "it belongs to nobody: remove it, or let its owner do so",
    "file that others may write": "others may write to it (mode 666): check it, then run chmod 600 ",
}


@pytest.mark.parametrize("how", PLANTED)
def test_the_lock_of_a_cluster_is_refused_where_something_was_planted(home: Path, victim: Path, how: str) -> None:
    plant(home, victim, how)
    with pytest.raises(RefusedError) as refused:
        take(home)
    text = str(refused.value)
    assert text.startswith(f"{lock_of(home)}: cannot take the lock: {PLANTED[how]}")
    assert text.endswith("; nothing was changed")
    assert "\n" not in text
    assert victim.read_text() == PRECIOUS
    assert not victim.with_name("not-yet").exists()


@pytest.mark.parametrize("how", ["symbolic link", "hard link"])
def test_the_lock_of_a_store_is_refused_where_something_was_planted(home: Path, victim: Path, how: str) -> None:
    with store_lock(place_of(home / "fleet")):
        pass
    lock = home / "fleet" / "lock"
    lock.unlink()
    lock.symlink_to(victim) if how == "symbolic link" else lock.hardlink_to(victim)
    with pytest.raises(UsageError, match="cannot take the lock"), store_lock(place_of(home / "fleet")):
        pass
    assert victim.read_text() == PRECIOUS


@pytest.mark.parametrize("lock", [".mine.lock", ".mine.json.lock"])
def test_the_lock_of_a_lab_is_refused_where_a_link_was_planted(home: Path, victim: Path, lock: str) -> None:
    (home / lock).symlink_to(victim)
    store = Store("mine", home)
    take_it = store.busy("up").__enter__ if lock == ".mine.lock" else lambda: store.update(lambda state: state)
    with pytest.raises(LabError, match="it is a symbolic link"):
        take_it()
    assert victim.read_text() == PRECIOUS


def test_a_lock_is_taken_again_after_it_was_released(home: Path) -> None:
    take(home)
    take(home)
    assert lock_of(home).read_text() == ""
    assert mode(lock_of(home)) == 0o600


@pytest.mark.parametrize("part", ["kfix", "locks"])
def test_a_state_folder_of_another_user_is_refused_with_a_hint(home: Path, part: str) -> None:
    take(home)
    folder = somebody_elses(home if part == "kfix" else home / "locks")
    with pytest.raises(RefusedError) as refused:
        take(home)
    way_on = "belongs to nobody: set KFIX_STATE_HOME to a folder of your own, or run kfix as nobody"
    assert f"{folder} {way_on}" in str(refused.value)


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o777])
@pytest.mark.parametrize("part", ["kfix", "locks", "runs"])
def test_a_state_folder_that_others_may_write_to_is_refused_with_a_way_on(home: Path, part: str, bits: int) -> None:
    take(home)
    folder = home if part == "kfix" else home / part
    folder.mkdir(exist_ok=True)
    folder.chmod(bits)
    begin = take if part == "locks" else run_of
    with pytest.raises(RefusedError) as refused:
        begin(home)
    text = f"others may write to {folder} (mode {bits:o}): check what is in it, then run chmod 700 {folder}"
    assert text in str(refused.value)


def test_a_folder_below_the_state_folder_is_never_a_link(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home / "locks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="locks is a symbolic link: remove it"):
        take(home)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_state_folder_itself_may_be_a_link_to_another_disk(home: Path, tmp_path: Path) -> None:
    (tmp_path / "kfix").symlink_to(home)
    take(tmp_path / "kfix")
    assert lock_of(home).exists()


@pytest.mark.parametrize("mask", UMASKS)
def test_every_folder_is_0700_and_every_file_0600_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    home = tmp_path / "far" / "state" / "kfix"
    with umask(mask):
        take(home)
        run = RunStore(home).create(plan(), 0.0)
        with run.open_journal() as journal:
            journal.write(b"")
        run.keep_screen("1", "the gate's screen")
        SnapshotStore(home).keep(Snapshot(1.0, "0", ClusterIdentity("abc", Mode.ZOOKEEPER), (), {}))
        with store_lock(place_of(home / "fleet")):
            write_bytes(place_of(home / "fleet" / "tables" / "runs" / "table.parquet"), b"x")
        with Store("mine", home / "labs").busy("up"):
            pass
    everything = list((tmp_path / "far").rglob("*"))
    assert len(everything) >= 15
    assert {mode(p) for p in (tmp_path / "far", *everything) if p.is_dir()} == {0o700}
    assert {mode(p) for p in everything if p.is_file()} == {0o600}


def test_permission_to_read_is_taken_from_others_where_they_had_it(home: Path) -> None:
    take(home)
    for folder in (home, home / "locks"):
        folder.chmod(0o755)
    lock_of(home).chmod(0o644)
    take(home)
    assert [mode(p) for p in (home, home / "locks", lock_of(home))] == [0o700, 0o700, 0o600]


def test_a_folder_above_that_existed_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    private_folder(tmp_path / "shared" / "kfix" / "runs", tmp_path / "shared" / "kfix")
    assert mode(tmp_path / "shared") == 0o755


def run_of(home: Path) -> RunDir:
    return RunStore(home).create(plan(), 0.0)


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_neither_a_journal_nor_a_screen_is_written_through_a_link(home: Path, victim: Path, link: str) -> None:
    run = run_of(home)
    for path in (run.journal_path, run.path / "1.txt"):
        path.symlink_to(victim) if link == "symbolic" else path.hardlink_to(victim)
    with pytest.raises(OSError, match="File exists"):
        run.open_journal()
    with pytest.raises(NotPrivateError):
        run.reopen_journal(run.journal())
    with pytest.raises(Exception, match="the gate's screen cannot be kept"):
        run.keep_screen("1", "the gate's screen")
    assert victim.read_text() == PRECIOUS


def test_a_file_written_whole_replaces_a_link_and_follows_none(tmp_path: Path, victim: Path) -> None:
    path = tmp_path / "memory.json"
    path.symlink_to(victim)
    write_whole(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert not path.is_symlink()
    assert victim.read_text() == PRECIOUS


def test_the_name_of_a_file_that_is_being_written_cannot_be_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    opened = os.open

    def spy(path: Path, flags: int, *rest: int) -> int:
        made.append(Path(path).name)
        assert flags & os.O_EXCL
        assert flags & os.O_NOFOLLOW
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", spy)
    for _ in range(2):
        write_private(tmp_path / "snapshot.json", b"{}")
    assert len(set(made)) == 2
    assert not any(str(os.getpid()) in name.split("-")[0] for name in made)
    assert [p.name for p in tmp_path.iterdir()] == ["snapshot.json"]


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "snapshot.json").mkdir()
    with pytest.raises(UsageError, match=r"snapshot\.json: cannot be written"):
        write_whole(tmp_path / "snapshot.json", b"{}")
    assert [p.name for p in tmp_path.iterdir()] == ["snapshot.json"]


def test_a_new_file_is_made_over_nothing(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "plan.json").symlink_to(tmp_path / "not-yet")
    for path in (victim, tmp_path / "plan.json"):
        with pytest.raises(FileExistsError):
            new_private(path)
    assert victim.read_text() == PRECIOUS


@pytest.mark.parametrize(
    ("bits", "used"), [(0o600, True), (0o644, True), (0o620, False), (0o602, False), (0o666, False)]
)
def test_a_file_that_the_group_or_others_may_write_is_not_used(home: Path, bits: int, used: bool) -> None:
    path = home / "file"
    path.write_text(PRECIOUS)
    path.chmod(bits)
    if used:
        os.close(open_private(path, os.O_WRONLY))
        assert mode(path) == 0o600
        return
    with pytest.raises(NotPrivateError, match=f"others may write to it .mode {bits:o}."):
        open_private(path, os.O_WRONLY | os.O_TRUNC)
    assert (path.read_text(), mode(path)) == (PRECIOUS, bits)


def test_a_file_in_a_folder_of_another_user_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    somebody_elses(tmp_path / "theirs")
    with pytest.raises(NotPrivateError, match="belongs to nobody"):
        open_private(tmp_path / "theirs" / "lock", os.O_RDWR | os.O_CREAT)
    assert list((tmp_path / "theirs").iterdir()) == []
