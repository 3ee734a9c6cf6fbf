"""Reads `fleet.yaml` or a folder of client properties as an `Inventory`; reports all mistakes with their positions."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path as FilePath
from typing import Final

from kfix.core.criteria import EXPECTED, Expected
from kfix.core.documents.problems import did_you_mean
from kfix.core.documents.reading import read_model, read_text
from kfix.core.errors import UsageError
from kfix.core.inventory.folder import read_folder
from kfix.core.inventory.meaning import PropertiesFiles, clock, day, moment, problems_of
from kfix.core.inventory.model import ClusterEntry, Criticality, Inventory, MaintenanceWindow, Mute
from kfix.core.inventory.schema import DAYS, ClusterModel, DefaultsModel, FleetModel, MuteModel, WindowModel
from kfix.core.inventory.trust import FILE, LARGEST

# Selects a part of the fleet by name, tag or owner. A selection that matches nothing is an error.


def select(
    inventory: Inventory, *, clusters: Sequence[str] = (), tags: Sequence[str] = (), owners: Sequence[str] = ()
) -> Inventory:
    """Returns the inventory with the clusters that match one value of each given kind.

    `clusters` are patterns with `*` and `?`. Raises UsageError if a value is empty or matches nothing, or if all
    together match nothing.
    """
    entries = inventory.clusters.values()
    chosen = [
        _by("--cluster", clusters, entries, lambda e, given: fnmatchcase(e.name, given), (e.name for e in entries)),
        _by("--tag", tags, entries, lambda e, given: given in e.tags, (t for e in entries for t in e.tags)),
        _by("--owner", owners, entries, lambda e, given: e.owner == given, (e.owner for e in entries if e.owner)),
    ]
    names = set(inventory.clusters).intersection(*(c for c in chosen if c is not None))
    if not names:
        raise UsageError(f"{inventory.origin}: no cluster matches --cluster, --tag and --owner together")
    return replace(inventory, clusters={n: e for n, e in inventory.clusters.items() if n in names})


def _by(
    option: str,
    given: Sequence[str],
    entries: Iterable[ClusterEntry],
    matches: Callable[[ClusterEntry, str], bool],
    known: Iterable[str],
) -> set[str] | None:
    """Returns the names that match an option, None if it is not given."""
    if not given:
        return None
    found = set[str]()
    for value in given:
        if not value.strip():
            raise UsageError(f"{option}: is empty", hint=f"leave {option} out to select all clusters")
        named = {e.name for e in entries if matches(e, value)}
        if not named:
            near = did_you_mean(value, {*known})
            raise UsageError(f"{option}: no cluster of the inventory matches {value!r}{near}")
        found |= named
    return found


_PLAIN: Final = ClusterEntry("")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid inventory. `sha256` is the hash of its file, or of its files by name; `warnings` are for people."""

    inventory: Inventory
    sha256: str
    warnings: tuple[str, ...] = ()


def load_inventory(path: FilePath, today: date | None = None, *, trusted: bool = False) -> Loaded:
    """Returns the inventory of a file, or of a folder: its fleet.yaml if it has one, else its client properties.

    `today` (UTC) decides which mutes have expired. Client properties read other secrets, such as from config providers,
    only if the inventory is `trusted`. Raises InvalidFileError with all mistakes, UsageError if the file cannot be
    read.
    """
    if path.is_dir():
        if not (path / FILE).is_file():
            inventory, digest = read_folder(path, trusted=trusted)
            return Loaded(inventory, digest)
        path /= FILE
    text = read_text(path, "inventory")
    properties = PropertiesFiles(path.parent, trusted=trusted)
    inventory = parse_inventory(text, str(path), path.parent, properties)
    now = today or datetime.now(UTC).date()
    return Loaded(inventory, hashlib.sha256(text.encode()).hexdigest(), (*_warnings(inventory, now), *properties.notes))


def parse_inventory(text: str, origin: str, folder: FilePath, properties: PropertiesFiles | None = None) -> Inventory:
    """Returns the inventory in a text; relative paths in it, and of `properties`, start from `folder`.

    Raises InvalidFileError with all mistakes.
    """
    properties = properties or PropertiesFiles(folder)
    model = read_model(
        text,
        FleetModel,
        origin=origin,
        what="inventory",
        more=lambda data: problems_of(data, properties),
        largest=LARGEST,
    )
    clusters = {name: _entry(name, given, model.defaults, properties) for name, given in model.clusters.items()}
    return Inventory(clusters, tuple(map(_mute, model.mutes)), origin)


def _entry(name: str, model: ClusterModel, defaults: DefaultsModel, properties: PropertiesFiles) -> ClusterEntry:
    config = model.command_config or defaults.command_config or ""
    bootstrap = model.bootstrap
    if not bootstrap and not model.zookeeper and model.command_config:
        bootstrap = properties.servers(model.command_config)
    word = model.criticality or defaults.criticality
    return ClusterEntry(
        name=name,
        bootstrap=bootstrap,
        zookeeper=model.zookeeper,
        command_config=str(properties.path(config)) if config else "",
        owner=model.owner or defaults.owner or "",
        tags=tuple(dict.fromkeys((*defaults.tags, *model.tags))),
        criticality=Criticality[word.upper()] if word else _PLAIN.criticality,
        expected=Expected(
            model.expected.rf or defaults.expected.rf or EXPECTED.rf,
            model.expected.min_isr or defaults.expected.min_isr or EXPECTED.min_isr,
        ),
        restart_grace=_first(model.restart_grace, defaults.restart_grace, _PLAIN.restart_grace),
        timeout=_first(model.timeout, defaults.timeout, _PLAIN.timeout),
        windows=tuple(map(_window, (*defaults.windows, *model.windows))),
        bootstrap_controller=model.bootstrap_controller,
        id=model.id or "",
        zones=dict(model.zones),
        trusted=properties.trusted,
        restart_command=model.restart_command or defaults.restart_command or "",
        upgrade_command=model.upgrade_command or defaults.upgrade_command or "",
    )


def _first(own: float | None, default: float | None, plain: float) -> float:
    return next(v for v in (own, default, plain) if v is not None)


def _window(model: WindowModel) -> MaintenanceWindow:
    if model.start is not None and model.end is not None:
        return MaintenanceWindow(model.why, start=moment(model.start), end=moment(model.end))
    days = frozenset(DAYS.index(d) for d in model.weekdays or ())
    return MaintenanceWindow(model.why, weekdays=days, at=clock(model.at or ""), minutes=int((model.for_ or 0) / 60))


def _mute(model: MuteModel) -> Mute:
    return Mute(tuple(model.clusters), tuple(model.findings), model.reason, day(model.until), model.by)


def _warnings(inventory: Inventory, today: date) -> Iterator[str]:
    for mute in inventory.mutes:
        what = f"{inventory.origin}: the mute of {', '.join(mute.findings)} on {', '.join(mute.clusters)}"
        if mute.expired(today):
            yield f"{what} expired on {mute.until} and covers nothing: extend it or remove it"
        for pattern in mute.clusters:
            if not any(fnmatchcase(name, pattern) for name in inventory.clusters):
                yield f"{what}: no cluster matches {pattern!r}"
