"""Contexts: which exist, which one is used, what one stands for, and whether its cluster can be reached."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import SnapshotOptions
from kfix.core.contexts.pins import Contexts
from kfix.core.contexts.profiles import entry_of, named, the_inventory
from kfix.core.documents.problems import did_you_mean
from kfix.core.documents.reading import read_text
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.inventory.adding import with_entry
from kfix.core.inventory.finding import find_inventory
from kfix.core.inventory.load import load_inventory
from kfix.core.inventory.meaning import name_problem
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.inventory.trust import Trust, distrust, trust, trust_of
from kfix.core.places import config_home, state_home
from kfix.core.private import make_folders
from kfix.core.saved.files import write_whole
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import Snapshot

# Clusters by name: what an inventory and this host know of each.


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One name of the inventory. `pinned` is the id of the cluster behind it on this host, "" if unknown."""

    entry: ClusterEntry
    pinned: str = ""
    used: bool = False


@dataclass(frozen=True, slots=True)
class ContextList:
    """The names of an inventory. `path` is where it was found, `by` what chose the name in use, "" if none is.

    `notes` name an inventory that is not the user's own.
    """

    path: Path
    inventory: Inventory
    rows: tuple[ContextRow, ...]
    by: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestedContext:
    """A cluster that answered to its name. `pinned` is the previous id behind the name, "" if none was known.

    `security` is how this user connected, without any secret.
    """

    entry: ClusterEntry
    snapshot: Snapshot
    pinned: str
    security: ClientSecurity

    @property
    def complete(self) -> bool:
        """Whether every source answered and the cluster's id is known."""
        return bool(self.snapshot.cluster.id) and all(source.ok for source in self.snapshot.sources)


_FILE = "fleet.yaml"
_OF_OTHERS = 0o644


def used_name(environ: Mapping[str, str]) -> str:
    """Returns the name that `kfix context use` chose, "" if there is none."""
    return _state(environ).used


def contexts(environ: Mapping[str, str], asked: str = "") -> ContextList:
    """Returns all names; `asked` is the name that KFIX_CLUSTER or `-c` gives, "" without one."""
    found, inventory = the_inventory(environ, "kfix context")
    state = _state(environ)
    used = asked or state.used
    rows = (ContextRow(e, e.id or state.pinned(e.name), e.name == used) for e in inventory.clusters.values())
    by = "KFIX_CLUSTER or -c" if asked else "kfix context use" if used else ""
    return ContextList(found.path, inventory, tuple(rows), by, found.notes_on())


def one_of(found: ContextList, name: str | None) -> ContextRow:
    """Returns the named context, or the one in use. Raises UsageError if there is none."""
    if name is None:
        used = next((row for row in found.rows if row.used), None)
        if used is None:
            raise UsageError("no context is in use", hint="name one, or choose it: kfix context use NAME")
        return used
    row = next((row for row in found.rows if row.entry.name == name), None)
    if row is None:
        near = did_you_mean(name, found.inventory.clusters)
        raise UsageError(f"{found.path} has no cluster {name!r}{near}", hint="kfix context list shows all")
    return row


def use(name: str, environ: Mapping[str, str]) -> str:
    """Chooses a name for the commands that name no cluster, or none for "". Returns the name chosen before."""
    if name:
        entry_of(name, environ, "kfix context use")
    state = _state(environ)
    before = state.used
    try:
        state.use(name)
    except OSError as error:
        raise UsageError(f"the choice cannot be stored: {error.strerror}", hint=f"export KFIX_CLUSTER={name}") from None
    return before


def reach(
    app: App, name: str, timeout: float | None, warn: Callable[[str], None], *, accept: bool = False
) -> TestedContext:
    """Reads the cluster of this name once; nothing is changed. `accept` lets the name stand for another cluster now.

    `warn` receives the notes on the inventory and the client properties, before anything is sent.

    Raises UnreachableError if no server answers, RefusedError if another cluster answers than the name stood for.
    """
    entry, *_ = entry_of(name, app.environ, "kfix context test")
    state = _state(app.environ)
    pinned = entry.id or state.pinned(name)
    access = named(name, Access(timeout=entry.timeout if timeout is None else timeout), app.environ)
    security = access.target().security.recorded
    for note in access.notes():
        warn(note)
    if not accept:
        return TestedContext(entry, app.clusters.snapshot(access, SnapshotOptions()), pinned, security)
    # Without its name, the cluster is not compared with the stored one.
    snapshot = app.clusters.snapshot(replace(access, name="", besides=()), SnapshotOptions())
    found = snapshot.cluster.id
    if not found:
        raise UnreachableError(f"{name}: no source reports the id of the cluster", hint="nothing was remembered")
    if entry.id and entry.id != found:
        raise RefusedError(
            f"{name}: the inventory has the id {entry.id}, and the cluster that answers is {found}",
            hint="correct the id in the inventory: it counts more than what is remembered",
        )
    try:
        state.pin(name, found)
    except OSError as error:
        raise UsageError(f"the id cannot be stored: {error.strerror}") from None
    return TestedContext(entry, snapshot, pinned, security)


def add(name: str, fields: Mapping[str, Any], environ: Mapping[str, str], inventory: Path | None) -> Path:
    """Adds a cluster to the inventory, which is replaced as a whole; every other line stays. Returns its path.

    Without an inventory, it creates one in the settings folder. After UsageError or InvalidFileError nothing was
    written.
    """
    if problem := name_problem(name):
        raise UsageError(problem)
    found = find_inventory(environ, None if inventory is None else str(inventory))
    path = _editable(config_home(environ) / _FILE if found is None else found.path)
    trusted = trust_of(path, environ) is Trust.TRUSTED
    text = read_text(path, "inventory") if path.exists() else ""
    made = with_entry(text, path, name, _from(path.parent, fields))
    try:
        make_folders(path.parent)
        mode = path.stat().st_mode & 0o777 if path.exists() else _OF_OTHERS
        if (read_text(path, "inventory") if path.exists() else "") != text:
            raise UsageError(f"{path}: was changed meanwhile", hint="run the command again")
        write_whole(path, made.encode())
        path.chmod(mode)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    if trusted:
        trust(path, environ)
    return path


def trust_inventory(inventory: Path | None, environ: Mapping[str, str], *, none: bool) -> tuple[Path, Inventory | None]:
    """Trusts an inventory, or the working folder's, as it is now; with `none`, no longer trusts it.

    Returns its path and its content. Raises UsageError or InvalidFileError if it is not valid, or if another user could
    change it.
    """
    path = (inventory or Path(_FILE)).absolute()
    if none:
        distrust(path, environ)
        return path, None
    loaded = load_inventory(path, trusted=True)
    trust(path, environ)
    return path, loaded.inventory


def _editable(path: Path) -> Path:
    if path.is_dir():
        inner = path / _FILE
        if not inner.is_file():
            raise UsageError(
                f"{path}: is a folder of client properties",
                hint=f"a cluster of it is a file with bootstrap.servers: {path / 'NAME.properties'}",
            )
        path = inner
    # A link is kept: the file that it points to is replaced.
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _from(folder: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields, with the path of client properties relative to the inventory's folder."""
    given = fields.get("command_config")
    if not given:
        return dict(fields)
    whole = Path(given).absolute()
    inside = whole.is_relative_to(folder.absolute())
    return {**fields, "command_config": str(whole.relative_to(folder.absolute()) if inside else whole)}


def _state(environ: Mapping[str, str]) -> Contexts:
    return Contexts(state_home(environ))


def settings(**given: str | Sequence[str] | None) -> dict[str, Any]:
    return {field: value for field, value in given.items() if value}
