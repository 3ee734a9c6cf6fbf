"""The inventory as recorded in a run's manifest, so that a stored run can be audited without the file of its day.

Client properties are not recorded: they hold credentials, and many people can read a manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from kfix.errors import UsageError
from kfix.model.audit.inventory import ClusterEntry, Criticality, Inventory, MaintenanceWindow, Mute
from kfix.model.expected import EXPECTED, Expected


def record_entry(entry: ClusterEntry) -> dict[str, Any]:
    return {
        "bootstrap": entry.bootstrap,
        "zookeeper": entry.zookeeper,
        "owner": entry.owner,
        "tags": list(entry.tags),
        "criticality": entry.criticality.word,
        "expected": {"rf": entry.expected.rf, "min_isr": entry.expected.min_isr},
        "restart_grace": entry.restart_grace,
        "timeout": entry.timeout,
        "windows": [_window(w) for w in entry.windows],
    }


def _window(window: MaintenanceWindow) -> dict[str, Any]:
    if window.start is not None and window.end is not None:
        return {"why": window.why, "start": window.start.isoformat(), "end": window.end.isoformat()}
    return {"why": window.why, "weekdays": sorted(window.weekdays), "at": window.at, "minutes": window.minutes}


def record_mute(mute: Mute) -> dict[str, Any]:
    return {
        "clusters": list(mute.clusters),
        "findings": list(mute.findings),
        "reason": mute.reason,
        "until": mute.until.isoformat(),
        "by": mute.by,
    }


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
        mutes = tuple(_mute(m) for m in manifest.get("mutes", ()))
        origin = str(manifest.get("inventory", {}).get("origin", ""))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"run {manifest.get('run')}: the inventory in its manifest is damaged: {type(error).__name__} at {error}"
        ) from None
    return Inventory(clusters, mutes, origin)


def _entry(name: str, raw: Mapping[str, Any]) -> ClusterEntry:
    plain = ClusterEntry(name)
    expected = raw.get("expected", {})
    return ClusterEntry(
        name=name,
        bootstrap=str(raw.get("bootstrap", "")),
        zookeeper=str(raw.get("zookeeper", "")),
        owner=str(raw.get("owner", "")),
        tags=tuple(map(str, raw.get("tags", ()))),
        criticality=Criticality[str(raw.get("criticality", plain.criticality.word)).upper()],
        expected=Expected(int(expected.get("rf", EXPECTED.rf)), int(expected.get("min_isr", EXPECTED.min_isr))),
        restart_grace=float(raw.get("restart_grace", plain.restart_grace)),
        timeout=float(raw.get("timeout", plain.timeout)),
        windows=tuple(_read_window(w) for w in raw.get("windows", ())),
    )


def _read_window(raw: Mapping[str, Any]) -> MaintenanceWindow:
    if "start" in raw:
        return MaintenanceWindow(raw["why"], datetime.fromisoformat(raw["start"]), datetime.fromisoformat(raw["end"]))
    return MaintenanceWindow(
        raw["why"], weekdays=frozenset(raw["weekdays"]), at=int(raw["at"]), minutes=int(raw["minutes"])
    )


def _mute(raw: Mapping[str, Any]) -> Mute:
    return Mute(
        tuple(raw["clusters"]), tuple(raw["findings"]), raw["reason"], date.fromisoformat(raw["until"]), raw["by"]
    )
