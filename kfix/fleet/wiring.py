"""The audit with the catalogue of checks, the JSON format and the store plugged in. Workers import it by name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date

from kfix.core.cyclic import without_collector
from kfix.core.diagnosis.finding import Finding
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.fleetcase import FleetCase
from kfix.core.inventory.model import Inventory
from kfix.diagnose.report.json_findings import finding_dict
from kfix.fleet.audit.judged import Judging
from kfix.fleet.audit.judging import judged
from kfix.fleet.audit.reading import DAYS, find_audit, history_until, report_of
from kfix.fleet.audit.running import Tools, audit_run
from kfix.fleet.engine import Engine
from kfix.fleet.engines import open_and_judge
from kfix.fleet.history.figures import ReplicaLimits
from kfix.fleet.judging.tasks import Judged, JudgeTask
from kfix.fleet.model.audit import AuditReport, CheckTitle
from kfix.fleet.model.history import AuditHistory, HistoryChoice
from kfix.fleet.store.audits import Audit
from kfix.fleet.store.places import StoreLocation, is_folder, place_of
from kfix.fleet.store.runs import Run
from kfix.fleet.store.storelock import store_lock
from kfix_diagnostics.catalogue import pages
from kfix_diagnostics.fleet import FLEET
from kfix_diagnostics.prevention.kfx611_many_partitions import PER_BROKER, PER_CLUSTER

LIMITS = ReplicaLimits(PER_BROKER, PER_CLUSTER)


def judge_for_audit(task: JudgeTask) -> Judged:
    """Returns the findings of one stored cluster, latent risks included, judged by the site's expectations.

    Raises UsageError for a damaged file and UnreachableError if the store cannot be reached; both name the file.
    """
    diagnosis, snapshot = open_and_judge(task.stored, replace(task.criteria, prevention=True))
    return judged(task, diagnosis, snapshot, finding_dict)


def audit(
    root: StoreLocation,
    run: Run,
    inventory: Inventory,
    engine: Engine,
    on_done: Callable[[str, str], None] = lambda _name, _error: None,
) -> Audit:
    """Returns the audit of a complete run: judges every cluster, compares with the previous audit, stores the result.

    `on_done` is called with (name, error or "") for each cluster that is judged.
    """
    judging = Judging(judge_for_audit, on_done)
    tools = Tools(judging, _over_fleets, finding_dict)
    with without_collector():
        return audit_run(root, run, inventory, engine, tools)


def report(root: StoreLocation, found: Audit, engine: Engine, *, days: int = DAYS) -> AuditReport:
    """Returns the report of a stored audit, with a trend over `days` days."""
    titles = (CheckTitle(c.code, c.slug, c.title, c.prevention) for c in pages())
    with without_collector():
        return report_of(root, found, titles, engine, LIMITS, days=days)


def stored_report(
    root: StoreLocation, engine: Engine, *, run: str = "", day: date | None = None, days: int = DAYS
) -> AuditReport:
    """Returns the report of the last audit, the last of a day, or that of a run. Raises UsageError if there is none."""
    return report(root, find_audit(root, run, day), engine, days=days)


def stored_history(root: StoreLocation, engine: Engine, choice: HistoryChoice, *, days: int) -> AuditHistory:
    """Returns the history of the last `days` days up to the last audit.

    Raises UsageError if there is no audit, no such check, or no such cluster or owner in these audits.
    """
    known = {check.code for check in pages()}
    for code in choice.codes:
        if code not in known:
            raise UsageError(f"--code: there is no check {code!r}{did_you_mean(code, known)}", hint="kfix explain")
    with without_collector():
        return history_until(root, find_audit(root), engine, LIMITS, choice, days)


@contextlib.contextmanager
def locked(store: str, *, creates: bool = False) -> Iterator[None]:
    """Holds the lock of the store.

    Raises HeldError if another process uses this store, UsageError if it does not exist, unless `creates` is set.
    """
    place = place_of(store)
    if not creates and not is_folder(place):
        raise UsageError(f"{store}: there is no fleet store", hint="kfix fleet collect creates one")
    with store_lock(place):
        yield


def _over_fleets(case: FleetCase) -> tuple[tuple[str, Finding], ...]:
    return tuple(found for check in FLEET for found in check.findings(case))
