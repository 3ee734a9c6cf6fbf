"""The id of the cluster behind each name of the inventory, from the first use of the name on this host.

An address may be reused: after a change of a name, a DNS entry or a load balancer, the same name would reach another
cluster. So kfix stores the id of the first cluster that answers to a name, and refuses another one. An `id` in the
inventory takes precedence, and then nothing is stored.
"""

import contextlib
from pathlib import Path
from typing import Final
from urllib.parse import quote

from kfix.core.documents.opening import read_file
from kfix.core.errors import RefusedError, UsageError
from kfix.core.private import private_folder, write_private
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.target import Target

FOLDER: Final = "contexts"
_PINS: Final = "ids"
_USED: Final = "used"
_LONGEST: Final = 400


class Contexts:
    """The names of the inventory in this user's state folder; with None, nothing is known or kept."""

    def __init__(self, home: Path | None) -> None:
        self._home = home

    def pinned(self, name: str) -> str:
        """Returns the id of the cluster behind the name, "" if it is not known."""
        return self._read(Path(_PINS) / _file(name))

    def pin(self, name: str, cluster_id: str) -> None:
        """Raises OSError if it cannot be written."""
        self._write(Path(_PINS) / _file(name), cluster_id)

    @property
    def used(self) -> str:
        return self._read(Path(_USED))

    def use(self, name: str) -> None:
        """Chooses the name, or none for "". Raises OSError if it cannot be written."""
        self._write(Path(_USED), name)

    def _read(self, path: Path) -> str:
        if self._home is None:
            return ""
        place = self._home / FOLDER / path
        try:
            text = read_file(place).decode("utf-8").removesuffix("\n")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "not text"
            raise UsageError(f"{place}: cannot be read: {why}", hint=f"remove it: rm {place}") from None
        if len(text) > _LONGEST or not text.isprintable():
            raise UsageError(f"{place}: is damaged", hint=f"remove it: rm {place}")
        return text

    def _write(self, path: Path, text: str) -> None:
        if self._home is None:
            return
        place = self._home / FOLDER / path
        private_folder(place.parent, self._home)
        write_private(place, f"{text}\n".encode())


def refuse_another(target: Target, snapshot: Snapshot, home: Path | None, *, pin: bool) -> None:
    """Raises RefusedError if the cluster that answered is not the one that the target's name stands for.

    With `pin`, the first use of a name stores the id. A cluster whose id no source reports is not refused here: the run
    itself refuses to change it.
    """
    name, found = target.name, snapshot.cluster.id
    if not found or found == target.expected_id:
        return
    if target.expected_id:
        raise RefusedError(
            f"-c {name}: the inventory has the id {target.expected_id}, and the cluster that answers is {found}",
            hint="correct the addresses, or, if the cluster was replaced on purpose, its id in the inventory",
        )
    contexts = Contexts(home)
    pinned = contexts.pinned(name)
    if pinned and pinned != found:
        raise RefusedError(
            f"-c {name}: this name stood for cluster {pinned}, and the cluster that answers now is {found}",
            hint=f"correct the addresses, or, if it was replaced on purpose: kfix context test {name} --accept-new-id",
        )
    if pin and not pinned:
        # A diagnosis does not depend on the state folder: the next one tries again.
        with contextlib.suppress(OSError):
            contexts.pin(name, found)


def _file(name: str) -> str:
    return quote(name, safe=" ")
