"""The inventory of a fleet, or the chosen part of it. No cluster is contacted."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.inventory.finding import find_inventory
from kfix.core.inventory.load import Loaded, load_inventory, select
from kfix.core.inventory.meaning import day
from kfix.core.inventory.trust import FILE, exists, own_places

__all__ = ["Loaded", "checked", "chosen", "the_day"]


def chosen(
    inventory: str | None, clusters: Sequence[str] = (), tags: Sequence[str] = (), owners: Sequence[str] = ()
) -> Loaded:
    """Returns the inventory, or the part of it with these names (patterns), tags and owners.

    Raises InvalidFileError with every mistake in the file, UsageError if nothing matches.
    """
    loaded = _loaded(inventory)
    return replace(loaded, inventory=select(loaded.inventory, clusters=clusters, tags=tags, owners=owners))


def _loaded(given: str | None) -> Loaded:
    """Returns the inventory of an option, or the one that is found. Raises UsageError if there is none."""
    found = find_inventory(os.environ, given)
    hint = "--inventory FILE|DIR, or KFIX_FLEET"
    if found is None:
        searched = ", ".join(map(str, (FILE, *own_places(os.environ))))
        raise UsageError(f"no inventory is given, and there is none at {searched}", hint=hint)
    if not exists(found.path):
        raise UsageError(f"{str(found.path)[:80]}: the inventory does not exist", hint=hint)
    loaded = load_inventory(found.path, trusted=found.trusted)
    return replace(loaded, warnings=(*found.notes_on(), *loaded.warnings))


def checked(files: Sequence[str]) -> tuple[Loaded, ...]:
    """Returns the inventories. Raises InvalidFileError with every mistake in all of them."""
    loaded: list[Loaded] = []
    problems: list[str] = []
    for file in files:
        try:
            loaded.append(_loaded(file))
        except InvalidFileError as error:
            problems += error.problems
    if problems:
        raise InvalidFileError(tuple(problems))
    return tuple(loaded)


def the_day(text: str | None, option: str = "--date") -> date | None:
    """Returns the date of an option, None if it is not given. Raises UsageError for a text such as 2026-02-30."""
    try:
        return None if text is None else day(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
