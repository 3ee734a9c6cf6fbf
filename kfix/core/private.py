"""Private files and folders of one user: runs, locks, stored snapshots, labs, plans.

Folders are created with mode 0700 and files with mode 0600, whatever the umask is. Before kfix writes to an existing
file, it checks the open file descriptor, not the path, so the file cannot be replaced in between. It refuses symbolic
links, hard links, anything but regular files, and files that another user owns or may write to.
"""

import errno
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
#: Another process may create or remove the file between two calls, but not many times in a row.
_ATTEMPTS: Final = 5


class NotPrivateError(OSError):
    """A path that kfix must not write to. `strerror` states what is wrong and how to fix it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why, str(path))


def new_folder(path: Path) -> None:
    """Creates a folder with mode 0700. Raises FileExistsError if the path exists."""
    path.mkdir(mode=FOLDER_MODE)
    # The umask may have removed permissions of the owner.
    path.chmod(FOLDER_MODE)


def make_folders(path: Path) -> None:
    """Creates `path` and missing parents with mode 0700; existing folders are not changed.

    Raises OSError if one of them cannot be created.
    """
    missing: list[Path] = []
    folder = path
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        try:
            new_folder(each)
        except FileExistsError:
            if not each.is_dir():
                raise


def private_folder(path: Path, home: Path | None = None, variable: str = "KFIX_STATE_HOME") -> None:
    """Creates `path` if it is missing, and removes permissions of other users.

    `home` is the topmost folder of kfix, `path` or one of its parents: every folder from there to `path` is checked.
    Only `home` may be a symbolic link. `variable` is the environment variable that sets its location.

    Raises NotPrivateError if another user owns a folder or may write to it, OSError if one cannot be created.
    """
    top = path if home is None else home
    make_folders(top)
    chain = [folder for folder in (path, *path.parents) if folder == top or top in folder.parents]
    for folder in reversed(chain):
        if folder != top:
            make_folders(folder)
        os.close(_open_folder(folder, variable, os.O_NOFOLLOW if folder != top else 0))


def open_private(path: Path, flags: int) -> int:
    """Returns a descriptor of `path`, which must be a regular file of this user with one link, in a folder of this
    user.

    `flags` as for `os.open`; with O_TRUNC the file is emptied only after it was checked.

    Raises NotPrivateError if the file or its folder is not private, OSError if it cannot be opened.
    """
    folder = _open_folder(path.parent, "KFIX_STATE_HOME", 0)
    try:
        handle = _open_at(folder, path, flags & ~os.O_TRUNC)
    finally:
        os.close(folder)
    try:
        if flags & os.O_TRUNC:
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def new_private(path: Path) -> int:
    """Returns a write descriptor of a new file with mode 0600, in a folder of any user.

    Raises FileExistsError if the path exists, even as a symbolic link, OSError if the file cannot be created.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    os.fchmod(handle, FILE_MODE)
    return handle


def write_private(path: Path, raw: bytes) -> None:
    """Writes a file with mode 0600 atomically: a reader sees the old or the new content.

    Raises OSError if it cannot be written; then the old content is unchanged.
    """
    # The name is unpredictable, so that no other user can create a file or link there first.
    beside = path.with_name(f".kfix-{os.urandom(8).hex()}.tmp")
    try:
        with os.fdopen(new_private(beside), "wb") as out:
            out.write(raw)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def _open_folder(path: Path, variable: str, more: int) -> int:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | more)
    except OSError as error:
        if path.is_symlink():
            raise NotPrivateError(path, f"{path} is a symbolic link: remove it") from error
        raise
    try:
        _check_folder(handle, path, variable)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check_folder(handle: int, path: Path, variable: str) -> None:
    about = os.fstat(handle)
    if about.st_uid != os.geteuid():
        owner = user_name(about.st_uid)
        why = f"{path} belongs to {owner}: set {variable} to a folder of your own, or run kfix as {owner}"
        raise NotPrivateError(path, why)
    mode = stat.S_IMODE(about.st_mode)
    if mode & _OTHERS_WRITE:
        why = f"others may write to {path} (mode {mode:o}): check what is in it, then run chmod 700 {path}"
        raise NotPrivateError(path, why)
    if mode & _OTHERS:
        os.fchmod(handle, mode & ~_OTHERS)


def _open_at(folder: int, path: Path, flags: int) -> int:
    for _ in range(_ATTEMPTS):
        if flags & os.O_CREAT:
            with suppress(FileExistsError):
                new = os.open(path.name, flags | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE, dir_fd=folder)
                os.fchmod(new, FILE_MODE)
                return new
            if flags & os.O_EXCL:
                break
        try:
            # A named pipe is opened without blocking, and refused afterwards.
            handle = os.open(path.name, (flags & ~os.O_CREAT) | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            if flags & os.O_CREAT:
                continue
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise NotPrivateError(path, "it is a symbolic link, and kfix follows none here: remove it") from error
            if error.errno == errno.ENXIO:
                raise NotPrivateError(path, "it is not a plain file: remove it") from error
            raise
        try:
            _check_file(handle, path)
        except BaseException:
            os.close(handle)
            raise
        return handle
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _check_file(handle: int, path: Path) -> None:
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise NotPrivateError(path, "it is not a plain file: remove it")
    if about.st_uid != os.geteuid():
        raise NotPrivateError(path, f"it belongs to {user_name(about.st_uid)}: remove it, or let its owner do so")
    if about.st_nlink > 1:
        raise NotPrivateError(path, f"the file has {about.st_nlink} names (hard links): remove this one")
    if about.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(about.st_mode)
        raise NotPrivateError(path, f"others may write to it (mode {mode:o}): check it, then run chmod 600 {path}")
    if about.st_mode & _OTHERS:
        os.fchmod(handle, FILE_MODE)


def user_name(uid: int) -> str:
    """Returns the name from the system's user database; an environment variable could name any user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
