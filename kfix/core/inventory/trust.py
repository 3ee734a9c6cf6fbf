"""The inventories that the user has read and trusts: path and content of each, in the state folder (ADR 47).

The content includes the client properties that an inventory names. A changed file is no longer trusted.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

from kfix.core.documents.nodes import parse
from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.places import config_home, state_home
from kfix.core.private import private_folder, user_name, write_private

# The paths of inventories, and the files of one inventory.

FILE: Final = "fleet.yaml"
VARIABLE: Final = "KFIX_FLEET"
#: The inventory of the whole host.
HOST: Final = Path("/etc/kfix")
#: In bytes.
LARGEST: Final = 8 * 1024 * 1024
_ENDING: Final = ".properties"
NESTED: Final = "client.properties"


def own_places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Returns the paths of the inventories of the user and of the host, in their order."""
    found = []
    with contextlib.suppress(UsageError):  # A user without a home folder.
        found.append(config_home(environ) / FILE)
    return (*found, HOST / FILE)


def exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # Such as a name that is too long, or a working folder that was removed.
        return False


def properties_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields (name of a cluster, its client properties) of a folder of client properties. Raises OSError."""
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if (path / NESTED).is_file():
                yield path.name, path / NESTED
        elif path.suffix == _ENDING:
            yield path.stem, path


_FOLDER: Final = Path("contexts", "trusted")


class Trust(Enum):
    """The user's trust in an inventory now; it is OPEN if another user can change the inventory."""

    NONE = 1
    CHANGED = 2
    OPEN = 3
    TRUSTED = 4


def trust_of(path: Path, environ: Mapping[str, str]) -> Trust:
    try:
        known = read_file(_record(path, environ)).decode("ascii", "replace").strip()
    except (OSError, UsageError):
        return Trust.NONE
    if known != _digest(path):
        return Trust.CHANGED
    return Trust.OPEN if any(map(of_others, (path, *_named(path)))) else Trust.TRUSTED


def trust(path: Path, environ: Mapping[str, str]) -> None:
    """Records the inventory as it is now. Raises UsageError if another user could change it, or nothing is stored."""
    for file in (path, *_named(path)):
        if problem := of_others(file):
            raise UsageError(f"{problem}: an inventory that others can change is not trusted")
    place = _record(path, environ)
    try:
        private_folder(place.parent, state_home(environ))
        write_private(place, f"{_digest(path)}\n".encode())
    except OSError as error:
        raise UsageError(f"{path}: the trust cannot be stored: {error.strerror}") from None


def distrust(path: Path, environ: Mapping[str, str]) -> None:
    with contextlib.suppress(FileNotFoundError):
        _record(path, environ).unlink()


def of_others(path: Path) -> str:
    """Returns which other user owns the file or its folder, or may write to it; "" if only this user and root do."""
    real = path.resolve()
    for each in dict.fromkeys((path.absolute().parent, real.parent, real)):
        try:
            about = each.stat()
        except OSError:
            continue
        if about.st_uid not in {0, os.geteuid()}:
            return f"{each} belongs to {user_name(about.st_uid)}"
        if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write to {each} (mode {stat.S_IMODE(about.st_mode):o}; chmod go-w {each})"
    return ""


def _record(path: Path, environ: Mapping[str, str]) -> Path:
    name = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()
    return state_home(environ) / _FOLDER / name


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    for file in (path, *_named(path)):
        with contextlib.suppress(OSError, UsageError):
            found.update(hashlib.sha256(os.fsencode(file) + b"\0" + read_file(file)).digest())
    return found.hexdigest()


def _named(path: Path) -> tuple[Path, ...]:
    """Returns the inventory inside of a folder, and the client properties that an inventory names."""
    if path.is_dir():
        inner = path / FILE
        if inner.is_file():
            return (inner, *_named(inner))
        return tuple(sorted(file for _, file in properties_in(path)))
    try:
        text = read_file(path, LARGEST).decode("utf-8", "replace")
    except OSError:
        return ()
    data = parse(text, "inventory", LARGEST).data
    return tuple(dict.fromkeys(path.parent / given for given in _configs(data)))


def _configs(data: Any) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    clusters = data.get("clusters")
    for each in (data.get("defaults"), *(clusters.values() if isinstance(clusters, dict) else ())):
        if isinstance(each, dict) and isinstance(given := each.get("command_config"), str):
            yield given
