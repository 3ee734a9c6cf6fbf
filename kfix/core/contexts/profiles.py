"""Contexts: clusters by name. An entry of the fleet's inventory stands for the address and the client properties."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.access import Access, ListedCluster
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError

if TYPE_CHECKING:
    from kfix.core.inventory.finding import FoundInventory
    from kfix.core.inventory.model import ClusterEntry, Inventory

_HINT = "list it under clusters: in fleet.yaml (kfix context add), or set KFIX_FLEET to an inventory"


def the_inventory(environ: Mapping[str, str], by: str) -> tuple[FoundInventory, Inventory]:
    """Returns the inventory that contains the names, and where it was found; `by` is what gave the name, for messages.

    Raises UsageError if there is none, InvalidFileError if it is not valid.
    """
    # Importing pydantic and the YAML reader takes 0.1 s, which a command with an address does not need.
    from kfix.core.inventory.finding import find_inventory  # noqa: PLC0415
    from kfix.core.inventory.load import load_inventory  # noqa: PLC0415
    from kfix.core.inventory.trust import FILE, own_places  # noqa: PLC0415

    found = find_inventory(environ)
    if found is None:
        searched = ", ".join(map(str, (FILE, *own_places(environ))))
        raise UsageError(f"{by}: there is no inventory at {searched}", hint=_HINT)
    return found, load_inventory(found.path, trusted=found.trusted).inventory


def entry_of(
    name: str, environ: Mapping[str, str], by: str = "--cluster"
) -> tuple[ClusterEntry, Inventory, FoundInventory]:
    """Returns the entry of this name, and its inventory. Raises UsageError if there is none."""
    found, inventory = the_inventory(environ, f"{by} {name}")
    if name not in inventory.clusters:
        near = did_you_mean(name, inventory.clusters)
        raise UsageError(f"{by}: {found.path} has no cluster {name!r}{near}", hint="kfix context list shows all")
    return inventory.clusters[name], inventory, found


def named(name: str, given: Access, environ: Mapping[str, str], by: str = "--cluster") -> Access:
    """Returns the access to the cluster of this name; options given besides the name override the inventory.

    Raises UsageError if there is no inventory or it has no such cluster, InvalidFileError if it is not valid.
    """
    entry, inventory, found = entry_of(name, environ, by)
    return Access(
        entry.bootstrap or None,
        given.zookeeper or entry.zookeeper or None,
        given.command_config or (Path(entry.command_config) if entry.command_config else None),
        given.timeout,
        name,
        tuple(given.options()),
        given.controllers or entry.bootstrap_controller or None,
        entry.id,
        ListedCluster(entry, inventory.mutes, found.notes_on(entry), bool(found.by)),
    )
