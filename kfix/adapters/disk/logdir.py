"""A broker's log directory: its checkpoints, its identity, and the folders of its partitions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kfix.adapters.disk import checkpoints
from kfix.adapters.disk.folder import Checkpointed, Depth, looks_like_partition, named, read_partition, said
from kfix.adapters.disk.opening import not_read, shown
from kfix.adapters.disk.properties import META, Meta, read_meta
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.disk import Grade, LogDir, Oddity

CLEAN = ".kafka_cleanshutdown"

Wanted = Callable[[TopicPartition], bool]


def find_log_dirs(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each path is a log directory, or a folder that holds some. UsageError where it is neither."""
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
        raise UsageError(f"{shown(path)}: is the folder of one partition", hint="give the folder that it lies in")
    raise UsageError(
        f"{shown(path)}: no log directory of a broker: neither {META} nor a partition's folder in it",
        hint="give an entry of log.dirs, a copy of one, or a folder that holds such copies",
    )


def _is_log_dir(path: Path, children: list[Path]) -> bool:
    marks = (META, *checkpoints.OFFSET_CHECKPOINTS)
    if any(os.path.lexists(path / mark) for mark in marks):
        return True
    return any(named(child.name) and looks_like_partition(child) for child in children)


def _folders(path: Path) -> list[Path]:
    """Folders in it, by name; links are not followed, so that none can lead in a circle."""
    with os.scandir(path) as entries:
        return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))


def _folders_or_none(path: Path) -> list[Path]:
    try:
        return _folders(path)
    except OSError:
        return []


def read_meta_of(path: Path) -> Meta:
    """Who wrote this directory; nothing is told, for `read_log_dir` tells it."""
    return _meta(path, lambda _: None)


def read_log_dir(path: Path, wanted: Wanted, depth: Depth) -> LogDir:
    """Whatever can be read of it; what cannot is among its oddities."""
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
    "delete": "is to be deleted: its topic, or this replica, was taken away",
    "future": "is being copied in from another directory of the same broker",
    "stray": "is a stray: the cluster does not count this broker among its replicas",
}


def _meta(path: Path, tell: Callable[[Oddity], None]) -> Meta:
    if not os.path.lexists(path / META):
        tell(Oddity(shown(path / META), None, "is missing: which broker and cluster wrote this directory is not known"))
        return Meta()
    return said(lambda: read_meta(path / META), tell) or Meta()


def _offsets(path: Path, tell: Callable[[Oddity], None]) -> dict[TopicPartition, int]:
    if not os.path.lexists(path):
        if path.name in {checkpoints.HIGH_WATERMARK, checkpoints.RECOVERY_POINT}:
            tell(Oddity(shown(path), None, "is missing"))
        return {}
    return said(lambda: checkpoints.read_offsets(path), tell) or {}


def _partition_folders(path: Path, tell: Callable[[Oddity], None]) -> list[Path]:
    folders = []
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda e: e.name)
            for entry in found:
                if named(entry.name) is None:
                    _tell_stranger(entry, tell)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_symlink():
                    tell(Oddity(shown(Path(entry.path)), None, "is a symbolic link: not followed", Grade.UNREAD))
    except OSError as error:
        tell(not_read(path, error).oddity)
    return folders


def _tell_stranger(entry: os.DirEntry[str], tell: Callable[[Oddity], None]) -> None:
    if entry.name.endswith(".tmp"):
        what = "left by a write that did not finish: nothing reads it"
    elif entry.is_dir(follow_symlinks=False) and entry.name != "lost+found":
        what = "is no partition's folder: not read"
    else:
        return
    tell(Oddity(shown(Path(entry.path)), None, what, Grade.NOTE))
