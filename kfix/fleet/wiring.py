"""The audit with the catalogue of checks, the JSON format and the store plugged in. Workers import it by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import date

from kfix.core.cyclic import without_collector
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.fleet.audit.reading import DAYS, find_audit, history_until, report_of
from kfix.fleet.engine import Engine
from kfix.fleet.history.figures import ReplicaLimits
from kfix.fleet.model.audit import AuditReport, CheckTitle
from kfix.fleet.model.history import AuditHistory, HistoryChoice
from kfix.fleet.store.audits import Audit
from kfix.fleet.store.places import StoreLocation, is_folder, place_of
from kfix.fleet.store.storelock import store_lock
from kfix_diagnostics.catalogue import pages
from kfix_diagnostics.prevention.kfx611_many_partitions import PER_BROKER, PER_CLUSTER

LIMITS = ReplicaLimits(PER_BROKER, PER_CLUSTER)


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
