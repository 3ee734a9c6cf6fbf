"""Clusters by name: an entry of the fleet's inventory stands for the address and the client properties of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kfix.app.access import Access
from kfix.documents.problems import did_you_mean
from kfix.errors import UsageError
from kfix.model.places import config_home

#: The inventory for one user, in the settings folder; $KFIX_FLEET names another.
FILE = "fleet.yaml"
_HINT = f"list it under clusters: in {FILE} of kfix's settings folder, or set KFIX_FLEET to an inventory"


def named(name: str, given: Access, environ: Mapping[str, str]) -> Access:
    """Returns the access to the cluster of this name; what the caller gave besides the name counts more.

    Raises UsageError if there is no inventory or it has no such cluster, InvalidFileError if it is not valid.
    """
    # Importing pydantic and the YAML reader takes 0.1 s, which a command with an address does not need.
    from kfix.fleet.inventory.load import load_inventory  # noqa: PLC0415

    path = Path(environ.get("KFIX_FLEET") or config_home(environ) / FILE)
    if not _exists(path):
        raise UsageError(f"--cluster {name}: there is no inventory at {path}", hint=_HINT)
    clusters = load_inventory(path).inventory.clusters
    if name not in clusters:
        raise UsageError(f"--cluster: {path} has no cluster {name!r}{did_you_mean(name, clusters)}", hint=_HINT)
    entry = clusters[name]
    return Access(
        entry.bootstrap or None,
        given.zookeeper or entry.zookeeper or None,
        given.command_config or (Path(entry.command_config) if entry.command_config else None),
        given.timeout,
        name,
        tuple(given.options()),
        given.controllers,
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name that is too long
        return False
