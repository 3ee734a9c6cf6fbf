"""Decides which inventory a command uses, and how far it is trusted: the one place for all commands (ADR 47)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kfix.core.errors import UsageError
from kfix.core.inventory.model import ClusterEntry
from kfix.core.inventory.trust import FILE, VARIABLE, Trust, exists, of_others, own_places, trust_of

OPTION = "--inventory"
_NAME = f"name it where you mean it: {VARIABLE}={FILE}"
_TRUST = f"read it, and then run kfix context trust, or {_NAME}"


@dataclass(frozen=True, slots=True)
class FoundInventory:
    """The path of an inventory. `by` is what chose it, "" for the user's and the host's own inventory.

    With `trusted`, its client properties may read other secrets. `notes` are for people.
    """

    path: Path
    by: str = ""
    trusted: bool = True
    notes: tuple[str, ...] = ()

    def notes_on(self, entry: ClusterEntry | None = None) -> tuple[str, ...]:
        """Returns a line with the inventory and this cluster's address if the inventory is not the user's own."""
        if self.by in {"", OPTION}:
            return self.notes
        where = f"{entry.name} is {entry.bootstrap or entry.zookeeper}, by " if entry is not None else ""
        return (f"{where}the inventory {self.path.absolute()} ({self.by})", *self.notes)


def find_inventory(environ: Mapping[str, str], given: str | None = None) -> FoundInventory | None:
    """Returns the first of these inventories: named by an option or KFIX_FLEET, the working folder's if the user trusts
    it, the user's, the host's. None if there is none.

    Raises UsageError if the working folder's inventory was trusted and another user could change it now, if it was
    changed, or if it is the only one and is not trusted.
    """
    owned = own_places(environ)
    if named := given or environ.get(VARIABLE):
        path = Path(named)
        if exists(path) and path.resolve() in {each.resolve() for each in owned}:
            return FoundInventory(path)
        by = VARIABLE if named == environ.get(VARIABLE) else OPTION
        return FoundInventory(path, by, exists(path) and trust_of(path, environ) is Trust.TRUSTED)
    own = next(filter(exists, owned), None)
    here = Path(FILE)
    if not exists(here) or (own is not None and here.resolve() == own.resolve()):
        return None if own is None else FoundInventory(own)
    here = here.absolute()
    match trust_of(here, environ):
        case Trust.TRUSTED:
            return FoundInventory(here, "kfix context trust")
        case Trust.CHANGED:
            raise UsageError(f"{here}: it, or properties that it names, changed since you trusted it", hint=_TRUST)
        case Trust.OPEN:
            raise UsageError(f"{here}: {of_others(here)}: it is not used, although you trusted it", hint=_NAME)
        case Trust.NONE:
            if own is None:
                raise UsageError(f"{here}: an inventory of the working folder is used once you trust it", hint=_TRUST)
            return FoundInventory(own, notes=(f"{here} is not used, because you have not trusted it: {_TRUST}",))
