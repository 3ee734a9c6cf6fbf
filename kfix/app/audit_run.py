"""The nightly audit as one call: a run collected or found, judged, compared, kept and reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Protocol

from kfix.adapters.fleet.places import place_of
from kfix.adapters.fleet.runs import Run, newest_run
from kfix.app.audit import audit, locked, report, stored_report
from kfix.app.collect import collected
from kfix.app.fleet import audit_engine, engine
from kfix.fleet.audit.tables import tables
from kfix.fleet.collection import already_complete
from kfix.fleet.engine import Engine
from kfix.fleet.inventory.load import Loaded
from kfix.fleet.inventory.recorded import recorded_inventory
from kfix.model.audit.audit import AuditReport
from kfix.model.audit.inventory import Inventory


@dataclass(frozen=True, slots=True)
class AuditRunOptions:
    """Where the run comes from: `collect` is here, spark or no (a run that is there). `timeout` is in seconds."""

    collect: str = "here"
    day: date | None = None
    run: str = ""
    concurrency: int = 32
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class EngineWish:
    """`spark` is a master (None: one pool on this machine), `settings` are Spark's."""

    spark: str | None = None
    processes: int | None = None
    settings: Mapping[str, str] | None = None
    sql_on_spark: bool = False


class Witness(Protocol):
    """Who watches an audit: shows progress and hears what a person should know."""

    @property
    def quiet(self) -> bool: ...

    def progress(self, total: int, what: str) -> AbstractContextManager[Callable[[str, str], None]]: ...

    def say(self, text: str) -> None: ...


def audit_night(
    place: str, loaded: Loaded | None, wish: EngineWish, night: AuditRunOptions, witness: Witness, *, days: int
) -> AuditReport:
    """Returns the report of a night. `loaded` is None where a stored run is judged by what it knows itself.

    Raises HeldError where another audit of this store is at work on this host.
    """
    root = place_of(place)
    used = audit_engine(wish.spark, wish.processes, wish.settings, sql_on_spark=wish.sql_on_spark)
    with locked(place), used as on:
        found = _run(place, loaded, on, night, witness)
        inventory = _inventory(found, loaded)
        with witness.progress(len(found.clusters), "judged") as hear:
            made = audit(root, found, inventory, on, hear)
        return report(root, made, on, days=days)


def _run(place: str, loaded: Loaded | None, engine: Engine, night: AuditRunOptions, witness: Witness) -> Run:
    """The run to judge: collected now, or one that is there."""
    if night.collect == "no" or loaded is None:
        return newest_run(place_of(place), night.day, night.run)
    if night.run and (there := already_complete(place, night.day, night.run)):
        if not witness.quiet:
            witness.say(f"run {night.run} of {there.day} is complete: judged again, and not collected again")
        return there
    made, _ = collected(
        place,
        loaded,
        night.day,
        night.run or None,
        progress=lambda total: witness.progress(total, "read"),
        say=witness.say,
        concurrency=night.concurrency,
        timeout=night.timeout,
        on=engine if night.collect == "spark" else None,
    )
    return made


def _inventory(run: Run, loaded: Loaded | None) -> Inventory:
    """Today's, with what the run knew of clusters that it does not name."""
    recorded = recorded_inventory(run.manifest)
    if loaded is None:
        return recorded
    return replace(loaded.inventory, clusters={**recorded.clusters, **loaded.inventory.clusters})


def report_of_store(place: str, *, run: str = "", day: date | None = None, days: int) -> AuditReport:
    """Returns the report of a stored audit: the last one unless a day or a run is named."""
    with engine(processes=1) as used:
        return stored_report(place_of(place), used, run=run, day=day, days=days)


def query_store(sql: str, place: str, *, days: int, run: str, looks: int, spark: str | None) -> Any:
    """Returns the answer of one SELECT over all that the store knows, as a pyarrow table."""
    shown = tables(place_of(place), days=days, run=run, looks=looks)
    with engine(spark) as used:
        return used.query(sql, shown)
