"""Reads a folder of client properties as a fleet: NAME.properties, or NAME/client.properties.

Each file needs `bootstrap.servers` or `zookeeper.connect`. Other files of the folder are ignored.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

from kfix.core.documents.opening import read_file
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.inventory.meaning import name_problem, properties_of, server_problems
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.inventory.trust import NESTED, properties_in
from kfix.core.properties.load import ClientProperties
from kfix.core.properties.parsing import NONE, read_properties


def read_folder(folder: Path, *, trusted: bool = False) -> tuple[Inventory, str]:
    """Returns (the inventory sorted by name, the sha256 of its files); `trusted` as in `load_inventory`.

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
        properties = properties_of(path, trusted=trusted)
        if isinstance(properties, tuple):
            wrong += [p if p.startswith(str(path)) else f"{path}:1:1: {p}" for p in properties]
        elif not wrong:
            clusters[name] = replace(_entry(name, path, properties, wrong), trusted=trusted)
            digest.update(f"{name}\0".encode() + read_file(path) + b"\0")
        problems += wrong
    if problems:
        raise InvalidFileError(tuple(problems))
    if not clusters:
        raise UsageError(
            f"{folder}: the folder has no cluster: neither NAME.properties nor NAME/{NESTED} exists",
            hint="name a file after the cluster and set bootstrap.servers in it, or write a fleet.yaml",
        )
    return Inventory(clusters, origin=str(folder)), digest.hexdigest()


def _files(folder: Path) -> list[tuple[str, Path]]:
    try:
        return [*properties_in(folder)]
    except OSError as error:
        raise UsageError(f"{folder}: cannot read the inventory: {(error.strerror or '').lower()}") from None


def _entry(name: str, path: Path, properties: ClientProperties, wrong: list[str]) -> ClusterEntry:
    places = read_properties(path)
    for key, what, text in (
        ("bootstrap.servers", "bootstrap", properties.bootstrap),
        ("zookeeper.connect", "zookeeper", properties.zookeeper),
    ):
        if text:
            at = places.get(key, NONE)
            wrong += [
                f"{path}:{at.line}:{at.column}: {key}: {p.partition(': ')[2]}" for p in server_problems(text, what)
            ]
    if not properties.bootstrap and not properties.zookeeper:
        wrong.append(f"{path}:1:1: has no bootstrap.servers: the address of the cluster {name!r} is unknown")
    return ClusterEntry(name, properties.bootstrap, properties.zookeeper, str(path))
