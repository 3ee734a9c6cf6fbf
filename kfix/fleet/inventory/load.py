"""`fleet.yaml`, or a folder of client properties, as an `Inventory`: all mistakes at once, with places."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path as FilePath
from typing import Final

from kfix.documents.reading import read_model, read_text
from kfix.errors import UsageError
from kfix.fleet.inventory.folder import read_folder
from kfix.fleet.inventory.meaning import Papers, problems_of
from kfix.fleet.inventory.schema import DAYS, ClusterModel, DefaultsModel, FleetModel, MuteModel, WindowModel
from kfix.fleet.inventory.words import clock, day, moment
from kfix.model.audit.inventory import ClusterEntry, Criticality, Inventory, MaintenanceWindow, Mute
from kfix.model.expected import EXPECTED, Expected

#: The file that a folder is searched for, before its properties files are taken for the fleet.
FILE: Final = "fleet.yaml"
_LARGEST: Final = 8 * 1024 * 1024
_PLAIN: Final = ClusterEntry("")


@dataclass(frozen=True, slots=True)
class Loaded:
    """`sha256` is of the file, or of the folder's files by name. `warnings` are lines for people; nothing is wrong."""

    inventory: Inventory
    sha256: str
    warnings: tuple[str, ...] = ()


def load_inventory(path: FilePath, today: date | None = None) -> Loaded:
    """A file, or a folder: its fleet.yaml where it has one, else its client properties.

    InvalidFileError with all mistakes; UsageError where there is no such file. `today` is UTC's, for expired mutes.
    """
    if path.is_dir():
        if not (path / FILE).is_file():
            inventory, digest = read_folder(path)
            return Loaded(inventory, digest)
        path /= FILE
    text = read_text(path, "inventory")
    inventory = parse_inventory(text, str(path), path.parent)
    now = today or datetime.now(UTC).date()
    return Loaded(inventory, hashlib.sha256(text.encode()).hexdigest(), tuple(_warnings(inventory, now)))


def parse_inventory(text: str, origin: str, folder: FilePath) -> Inventory:
    """`folder` is what relative paths in the text start from."""
    papers = Papers(folder)
    model = read_model(
        text,
        FleetModel,
        origin=origin,
        what="inventory",
        more=lambda data: problems_of(data, papers),
        largest=_LARGEST,
    )
    clusters = {name: _entry(name, said, model.defaults, papers) for name, said in model.clusters.items()}
    return Inventory(clusters, tuple(map(_mute, model.mutes)), origin)


def _entry(name: str, said: ClusterModel, defaults: DefaultsModel, papers: Papers) -> ClusterEntry:
    config = said.command_config or defaults.command_config or ""
    bootstrap = said.bootstrap
    if not bootstrap and not said.zookeeper and said.command_config:
        bootstrap = papers.servers(said.command_config)
    word = said.criticality or defaults.criticality
    return ClusterEntry(
        name=name,
        bootstrap=bootstrap,
        zookeeper=said.zookeeper,
        command_config=str(papers.path(config)) if config else "",
        owner=said.owner or defaults.owner or "",
        tags=tuple(dict.fromkeys((*defaults.tags, *said.tags))),
        criticality=Criticality[word.upper()] if word else _PLAIN.criticality,
        expected=Expected(
            said.expected.rf or defaults.expected.rf or EXPECTED.rf,
            said.expected.min_isr or defaults.expected.min_isr or EXPECTED.min_isr,
        ),
        restart_grace=_first(said.restart_grace, defaults.restart_grace, _PLAIN.restart_grace),
        timeout=_first(said.timeout, defaults.timeout, _PLAIN.timeout),
        windows=tuple(map(_window, (*defaults.windows, *said.windows))),
    )


def _first(own: float | None, default: float | None, plain: float) -> float:
    return next(v for v in (own, default, plain) if v is not None)


def _window(said: WindowModel) -> MaintenanceWindow:
    if said.start is not None and said.end is not None:
        return MaintenanceWindow(said.why, start=moment(said.start), end=moment(said.end))
    days = frozenset(DAYS.index(d) for d in said.weekdays or ())
    return MaintenanceWindow(said.why, weekdays=days, at=clock(said.at or ""), minutes=int((said.for_ or 0) / 60))


def _mute(said: MuteModel) -> Mute:
    return Mute(tuple(said.clusters), tuple(said.findings), said.reason, day(said.until), said.by)


def _warnings(inventory: Inventory, today: date) -> Iterator[str]:
    for mute in inventory.mutes:
        what = f"{inventory.origin}: the mute of {', '.join(mute.findings)} on {', '.join(mute.clusters)}"
        if mute.expired(today):
            yield f"{what} ended on {mute.until}: it covers nothing; prolong it, or take it out"
        for pattern in mute.clusters:
            if not any(fnmatchcase(name, pattern) for name in inventory.clusters):
                yield f"{what}: no cluster is called {pattern!r}"


def the_path(said: str | None) -> FilePath:
    """Of an option: UsageError where none is given, or where there is nothing."""
    if not said:
        raise UsageError("which fleet? no inventory is given", hint="--inventory FILE|DIR, or KFIX_FLEET")
    path = FilePath(said)
    try:
        there = path.exists()
    except OSError as error:
        raise UsageError(f"{said[:80]}: the inventory cannot be read: {error.strerror}") from None
    if not there:
        raise UsageError(f"{said}: there is no such inventory", hint="--inventory FILE|DIR, or KFIX_FLEET")
    return path
