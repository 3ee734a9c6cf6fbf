"""The paths of inventories, and the files of one inventory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kfix.core.errors import UsageError
from kfix.core.places import config_home

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
