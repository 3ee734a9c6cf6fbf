"""Reads a folder of client properties as a fleet: NAME.properties, or NAME/client.properties.

Each file needs `bootstrap.servers` or `zookeeper.connect`. Other files of the folder are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kfix.adapters.kafka.security import read_properties
from kfix.documents.opening import read_file
from kfix.errors import InvalidFileError, UsageError
from kfix.fleet.inventory.meaning import properties_problems
from kfix.fleet.inventory.words import name_problem, server_problems
from kfix.model.audit.inventory import ClusterEntry, Inventory

_ENDING: Final = ".properties"
NESTED: Final = "client.properties"


def read_folder(folder: Path) -> tuple[Inventory, str]:
    """Returns (the inventory sorted by name, the sha256 of its files).

    Raises InvalidFileError with all mistakes, UsageError if the folder has no cluster.
    """
    clusters: dict[str, ClusterEntry] = {}
    places: dict[str, Path] = {}
    problems: list[str] = []
    digest = hashlib.sha256()
    # NAME.properties before NAME/client.properties.
    for name, path in sorted(_files(folder), key=lambda f: (f[0], f[1].name == NESTED, f[1])):
        if name in places:
            problems.append(f"{path}:1:1: the cluster {name!r} is already in {places[name]}:1:1")
            continue
        places[name] = path
        wrong = [f"{path}:1:1: {text}" for text in [name_problem(name)] if text]
        wrong += [p if p.startswith(str(path)) else f"{path}:1:1: {p}" for p in properties_problems(path)]
        if not wrong:
            clusters[name] = _entry(name, path, wrong)
            digest.update(f"{name}\0".encode() + read_file(path) + b"\0")
        problems += wrong
    if problems:
        raise InvalidFileError(tuple(problems))
    if not clusters:
        raise UsageError(
            f"{folder}: the folder has no cluster: neither NAME{_ENDING} nor NAME/{NESTED} exists",
            hint="name a file after the cluster and set bootstrap.servers in it, or write a fleet.yaml",
        )
    return Inventory(clusters, origin=str(folder)), digest.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    try:
        for path in folder.iterdir():
            if path.name.startswith("."):
                continue
            if path.is_dir():
                if (path / NESTED).is_file():
                    yield path.name, path / NESTED
            elif path.suffix == _ENDING:
                yield path.stem, path
    except OSError as error:
        raise UsageError(f"{folder}: cannot read the inventory: {(error.strerror or '').lower()}") from None


def _entry(name: str, path: Path, wrong: list[str]) -> ClusterEntry:
    values = read_properties(path)
    found = {}
    for key, what in (("bootstrap.servers", "bootstrap"), ("zookeeper.connect", "zookeeper")):
        text, line = values.get(key, ("", 0))
        found[what] = text
        if text:
            wrong += [f"{path}:{line}:1: {key}: {p.partition(': ')[2]}" for p in server_problems(text, what)]
    if not any(found.values()):
        wrong.append(f"{path}:1:1: has no bootstrap.servers: the address of the cluster {name!r} is unknown")
    return ClusterEntry(name, found["bootstrap"], found["zookeeper"], str(path))
