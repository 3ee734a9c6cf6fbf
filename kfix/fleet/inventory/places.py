"""Where an inventory is looked for if none is named."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kfix.errors import UsageError
from kfix.model.places import config_home

FILE: Final = "fleet.yaml"
VARIABLE: Final = "KFIX_FLEET"
#: The inventory of the whole host.
HOST: Final = Path("/etc/kfix")


def places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Returns the paths in their order: KFIX_FLEET alone, or those of the working folder, the user and the host."""
    if given := environ.get(VARIABLE):
        return (Path(given),)
    found = [Path(FILE)]
    with contextlib.suppress(UsageError):  # a user without a home folder
        found.append(config_home(environ) / FILE)
    return (*found, HOST / FILE)


def first_there(environ: Mapping[str, str]) -> Path | None:
    """Returns the first of the places that exists, None if there is none."""
    return next((path for path in places(environ) if _exists(path)), None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name that is too long, or a working folder that was removed
        return False
