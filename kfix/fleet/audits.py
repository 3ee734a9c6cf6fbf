"""The calls behind `kfix audit`: collect a run or take a stored one, judge and report it, and ask the store."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Protocol

from kfix.core.inventory.load import Loaded
from kfix.core.inventory.model import Inventory
from kfix.core.inventory.recorded import recorded_inventory
from kfix.fleet.audit.past import pending_runs
from kfix.fleet.audit.reading import report, stored_history, stored_report
from kfix.fleet.audit.running import audit
from kfix.fleet.collect.run import already_complete, collected
from kfix.fleet.engines.engine import Engine
from kfix.fleet.engines.opening import engine
from kfix.fleet.model.audit import AuditReport
from kfix.fleet.model.history import AuditHistory, HistoryChoice
from kfix.fleet.questions.asking import FleetAnswer, ask, shown
from kfix.fleet.questions.catalogue import question, questions
from kfix.fleet.questions.tables import created_tables, named_in, tables
from kfix.fleet.store.places import left_out, place_of
from kfix.fleet.store.runs import Run, newest_run
from kfix.fleet.store.storelock import locked


@dataclass(frozen=True, slots=True)
class Pending:
    """All complete runs without an audit: since a day, or with None since the last run that has one."""

    since: date | None = None


@dataclass(frozen=True, slots=True)
class AuditRunOptions:
    """The run to audit. `collect` is "here", "spark" or "no" (judge a stored run). `timeout` is in seconds."""

    collect: str = "here"
    day: date | None = None
    run: str = ""
    concurrency: int = 32
    timeout: float | None = None
    pending: Pending | None = None


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine to use: `spark` is a master URL (None: a process pool on this machine), `settings` are Spark's.

    `catalog` is the schema of Spark's catalog in which an audit registers the tables of the store, "" for none.
    """

    spark: str | None = None
    processes: int | None = None
    settings: Mapping[str, str] | None = None
    sql_on_spark: bool = False
    catalog: str = ""


class AuditObserver(Protocol):
    """Shows the progress of an audit and prints messages to the person who started it."""

    @property
    def quiet(self) -> bool: ...

    def progress(self, total: int, what: str) -> AbstractContextManager[Callable[[str, str], None]]: ...

    def say(self, text: str) -> None: ...


def run_audit(
    place: str,
    loaded: Loaded | None,
    on: EngineOptions,
    options: AuditRunOptions,
    observer: AuditObserver,
    *,
    days: int,
) -> AuditReport | None:
    """Runs an audit and returns its report, with a trend over `days` days; None if `Pending` finds nothing to judge.

    Of several runs that are judged the report is that of the last one.

    `loaded` is the inventory; with None a stored run is judged by the inventory in its manifest. Raises HeldError if
    another audit of this store is running.
    """
    root = place_of(place)
    chosen = engine(on.spark, on.processes, on.settings, small_sql_here=not on.sql_on_spark)
    with locked(place, creates=options.collect != "no"), chosen as used:
        registered: Mapping[str, str] = {}
        if on.catalog:
            # Before the work, so that what is wrong with the catalog is known at once.
            registered = created_tables(root)
            used.register(on.catalog, str(root), registered)
        if options.pending is None:
            wanted: tuple[Run, ...] = (_run(place, loaded, used, options, observer),)
        else:
            wanted = pending_runs(root, options.pending.since)
        made = None
        for found in wanted:
            with observer.progress(len(found.clusters), "judged") as hear:
                made = audit(root, found, _inventory(found, loaded), used, hear)
        if on.catalog:
            new = {name: place for name, place in created_tables(root).items() if name not in registered}
            used.register(on.catalog, str(root), new)
        return None if made is None else report(root, made, used, days=days)


def _run(place: str, loaded: Loaded | None, engine: Engine, options: AuditRunOptions, observer: AuditObserver) -> Run:
    """Collects a run, or returns the stored one that is asked for."""
    if options.collect == "no" or loaded is None:
        return newest_run(place_of(place), options.day, options.run)
    if options.run and (there := already_complete(place, options.day, options.run)):
        if not observer.quiet:
            observer.say(f"run {options.run} of {there.day} is complete: it is judged again, not collected again")
        return there
    made, _ = collected(
        place,
        loaded,
        options.day,
        options.run or None,
        progress=lambda total: observer.progress(total, "read"),
        say=observer.say,
        concurrency=options.concurrency,
        timeout=options.timeout,
        on=engine if options.collect == "spark" else None,
    )
    return made


def _inventory(run: Run, loaded: Loaded | None) -> Inventory:
    """Returns today's inventory plus the recorded entries of clusters that it no longer names."""
    recorded = recorded_inventory(run.manifest)
    if loaded is None:
        return recorded
    return replace(loaded.inventory, clusters={**recorded.clusters, **loaded.inventory.clusters})


def report_of_store(place: str, *, run: str = "", day: date | None = None, days: int) -> AuditReport:
    """Returns the report of the last stored audit, or of the one that `run` or `day` names."""
    with engine(processes=1) as used:
        return stored_report(place_of(place), used, run=run, day=day, days=days)


def history_of_store(place: str, on: EngineOptions, choice: HistoryChoice, *, days: int) -> AuditHistory:
    """Returns the history of the chosen clusters, owners and codes over `days` days, as `stored_history`."""
    with engine(on.spark, on.processes, on.settings) as used:
        return stored_history(place_of(place), used, choice, days=days)


def ask_store(name: str, place: str, *, days: int, run: str, snapshots: int | None) -> FleetAnswer:
    """Returns the answer to a question of the fleet, from the embedded engine.

    It reads as many of the last runs as the question needs, or the last `snapshots`. Raises UsageError for a question
    that there is not.
    """
    with engine() as used:
        return ask(place_of(place), used, question(name), days=days, run=run, snapshots=snapshots)


def with_answers(place: str, report: AuditReport, *, days: int) -> AuditReport:
    """Returns the report with the answers to all questions that have one; unchanged if there is a newer run.

    The questions are about the last runs.
    """
    root = place_of(place)
    last = newest_run(root)
    if (last.day, last.id) != (report.day, report.run):
        return report
    answers, damaged = [], [*report.damaged]
    with engine(processes=1) as used:
        for each in questions().values():
            # A damaged file costs the answers that need it, and not the report.
            with left_out(damaged):
                answers.append(ask(root, used, each, days=days))
    found = tuple(shown(each) for each in answers if each.rows.num_rows)
    return replace(report, answers=found, damaged=tuple(dict.fromkeys(damaged)))


def query_store(sql: str, place: str, *, days: int, run: str, snapshots: int) -> Any:
    """Returns the result of one SELECT over the store as a pyarrow table, from the embedded engine (ADR 48).

    `days` limits the audits, `snapshots` the runs whose partitions are read. Raises UsageError for a wrong statement.
    """
    with engine() as used:
        shown = tables(place_of(place), days=days, run=run, snapshots=snapshots)
        return used.query(sql, named_in(sql, shown))
