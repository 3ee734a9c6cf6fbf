"""The log directory of a broker: checkpoints, meta.properties and partition folders."""

import fcntl
import os
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kfix.core.disk import checkpoints
from kfix.core.disk.checkpoints import META, Meta, read_meta
from kfix.core.disk.folder import Checkpointed, Depth, looks_like_partition, named, read_partition, with_remarks
from kfix.core.disk.model import Grade, LogDir, Oddity
from kfix.core.disk.opening import not_read, shown
from kfix.core.errors import RefusedError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition

CLEAN = ".kafka_cleanshutdown"
_LOCK = ".lock"
#: `struct flock`: type, whence, start, length, pid.
_FLOCK = struct.Struct("hhqqi4x")

Wanted = Callable[[TopicPartition], bool]


def find_log_dirs(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the log directories; each path is one or contains some. Raises UsageError if it is neither."""
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        for each in _log_dirs_at(path):
            status = each.stat()
            found.setdefault((status.st_dev, status.st_ino), each)
    return tuple(found.values())


def _log_dirs_at(path: Path) -> list[Path]:
    try:
        children = _folders(path)
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot be read: {(error.strerror or 'error').lower()}") from None
    if _is_log_dir(path, children):
        return [path]
    below = [child for child in children if _is_log_dir(child, _folders_or_none(child))]
    if below:
        return below
    if named(path.resolve().name) and looks_like_partition(path):
        raise UsageError(f"{shown(path)}: is the folder of one partition", hint="give its parent folder")
    raise UsageError(
        f"{shown(path)}: not a log directory: it has neither {META} nor a partition folder",
        hint="give an entry of log.dirs, a copy of one, or a folder that contains such copies",
    )


def _is_log_dir(path: Path, children: list[Path]) -> bool:
    marks = (META, *checkpoints.OFFSET_CHECKPOINTS)
    if any(os.path.lexists(path / mark) for mark in marks):
        return True
    return any(named(child.name) and looks_like_partition(child) for child in children)


def _folders(path: Path) -> list[Path]:
    """Returns the subfolders by name; links are not followed, so there are no cycles."""
    with os.scandir(path) as entries:
        return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))


def _folders_or_none(path: Path) -> list[Path]:
    try:
        return _folders(path)
    except OSError:
        return []


def read_meta_of(path: Path) -> Meta:
    """Returns meta.properties without remarks, since `read_log_dir` reports them."""
    return _meta(path, lambda _: None)


def require_one_cluster(folders: Mapping[str, Path]) -> None:
    """Raises RefusedError if the directories belong to different clusters."""
    clusters: dict[str, str] = {}
    for name, folder in folders.items():
        if cluster := read_meta_of(folder).cluster:
            clusters.setdefault(cluster, name)
    if len(clusters) > 1:
        names = ", ".join(f"{cluster} ({name})" for cluster, name in clusters.items())
        raise RefusedError(f"directories of different clusters: {names}", hint="inspect those of one cluster together")


def is_held(path: Path) -> bool:
    """Whether a process of this host uses the log directory: a broker or a controller locks its `.lock`.

    It only asks (F_GETLK of Linux): a lock taken for the test would keep a node from starting.
    """
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        handle = os.open(path / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        return bool(_FLOCK.unpack(fcntl.fcntl(handle, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK)
    finally:
        os.close(handle)


def read_log_dir(path: Path, wanted: Wanted, depth: Depth) -> LogDir:
    """Returns the readable part of a log directory; everything else is listed in its oddities."""
    odd: list[Oddity] = []
    meta = _meta(path, odd.append)
    known = Checkpointed(*(_offsets(path / name, odd.append) for name in checkpoints.OFFSET_CHECKPOINTS))
    replicas = []
    for folder in _partition_folders(path, odd.append):
        who = named(folder.name)
        if who is not None and wanted(who.tp):
            if who.state:
                odd.append(Oddity(shown(folder), None, _ASIDE[who.state], Grade.NOTE))
            replicas.append(read_partition(folder, who, meta.broker, known, depth, odd.append))
    clean = os.path.lexists(path / CLEAN)
    return LogDir(shown(path), meta.broker, meta.cluster, clean, tuple(replicas), tuple(dict.fromkeys(odd)))


_ASIDE = {
    "delete": "is marked for deletion: the topic or this replica was removed",
    "future": "is being moved here from another log directory of the same broker",
    "stray": "is stray: this broker is not a replica of the partition",
}


def _meta(path: Path, report: Callable[[Oddity], None]) -> Meta:
    if not os.path.lexists(path / META):
        report(Oddity(shown(path / META), None, "is missing: broker and cluster of this directory are unknown"))
        return Meta()
    return with_remarks(lambda: read_meta(path / META), report) or Meta()


def _offsets(path: Path, report: Callable[[Oddity], None]) -> dict[TopicPartition, int]:
    if not os.path.lexists(path):
        if path.name in {checkpoints.HIGH_WATERMARK, checkpoints.RECOVERY_POINT}:
            report(Oddity(shown(path), None, "is missing"))
        return {}
    return with_remarks(lambda: checkpoints.read_offsets(path), report) or {}


def _partition_folders(path: Path, report: Callable[[Oddity], None]) -> list[Path]:
    folders = []
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda e: e.name)
            for entry in found:
                if named(entry.name) is None:
                    _report_foreign(entry, report)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_symlink():
                    report(Oddity(shown(Path(entry.path)), None, "is a symbolic link: not followed", Grade.UNREAD))
    except OSError as error:
        report(not_read(path, error).oddity)
    return folders


def _report_foreign(entry: os.DirEntry[str], report: Callable[[Oddity], None]) -> None:
    if entry.name.endswith(".tmp"):
        what = "left by an unfinished write: nothing reads it"
    elif entry.is_dir(follow_symlinks=False) and entry.name != "lost+found":
        what = "is not a partition folder: not read"
    else:
        return
    report(Oddity(shown(Path(entry.path)), None, what, Grade.NOTE))
