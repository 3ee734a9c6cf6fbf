"""An act in the words of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kfix.core.errors import UsageError
from kfix.preflight.acts import config, migration, remove, restart, stop
from kfix.preflight.model import Act
from kfix.preflight.moving import reassign
from kfix.preflight.upgrading import upgrade

#: {verb: (how it is made, number of words after it)}.
_ACTS: Final[dict[str, tuple[Callable[..., Act], int]]] = {
    "restart": (restart, 1),
    "stop": (stop, 1),
    "remove": (remove, 1),
    "reassign": (lambda file: reassign(Path(file)), 1),
    "config": (config, 3),
    "upgrade": (upgrade, 1),
    "migration": (migration, 1),
}


def act_of(words: str) -> Act:
    """Returns the act, such as `restart broker=3`. Raises UsageError for another one."""
    verb, *rest = shlex.split(words) or [""]
    made, count = _ACTS.get(verb, (None, 0))
    if made is None or len(rest) != count:
        raise UsageError(
            f"preflight {words!r}: one of {', '.join(_ACTS)}, with its words", hint="kfix preflight --help"
        )
    return made(*rest)
