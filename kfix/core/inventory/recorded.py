"""The inventory as recorded in a run's manifest, so that a stored run can be audited without the file of its day.

Client properties are not recorded: they hold credentials, and many people can read a manifest.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kfix.core.errors import UsageError
from kfix.core.inventory.model import ClusterEntry, Criticality, Inventory, Mute

_ENTRY: Final = TypeAdapter(ClusterEntry)
_MUTE: Final = TypeAdapter(Mute)
_NOT_KEPT: Final = {"name", "command_config", "trusted", "restart_command", "upgrade_command"}
_KEPT: Final = {f.name for f in fields(ClusterEntry)} - _NOT_KEPT


def record_entry(entry: ClusterEntry) -> dict[str, Any]:
    return {**_ENTRY.dump_python(entry, mode="json", exclude=_NOT_KEPT), "criticality": entry.criticality.word}


def record_mute(mute: Mute) -> dict[str, Any]:
    return dict(_MUTE.dump_python(mute, mode="json"))


def recorded_inventory(manifest: Mapping[str, Any]) -> Inventory:
    """Returns the inventory recorded in `Run.manifest`; a run without one gets entries with default values.

    Raises UsageError if it is damaged.
    """
    entries = manifest.get("entries", {})
    names = {*manifest["clusters"], *manifest["failed"]}
    try:
        # In the order of the file; clusters of an earlier attempt that the file no longer names come last.
        clusters = {n: _entry(n, raw) for n, raw in entries.items() if n in names}
        clusters |= {n: ClusterEntry(n) for n in sorted(names - clusters.keys())}
        mutes = tuple(_MUTE.validate_python(m) for m in manifest.get("mutes", ()))
        origin = str(manifest.get("inventory", {}).get("origin", ""))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"run {manifest.get('run')}: the inventory in its manifest is damaged: {_where(error)}"
        ) from None
    return Inventory(clusters, mutes, origin)


def _entry(name: str, raw: Mapping[str, Any]) -> ClusterEntry:
    """Returns the entry without the results of the collection (`seconds`, `taken_at`), which are also stored there."""
    kept = {key: value for key, value in raw.items() if key in _KEPT}
    if "criticality" in kept:
        kept["criticality"] = Criticality[str(kept["criticality"]).upper()]
    return _ENTRY.validate_python({**kept, "name": name})


def _where(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__} at {error}"
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
