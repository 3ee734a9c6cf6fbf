"""Clusters by name: what an inventory and this host know of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import Snapshot


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
