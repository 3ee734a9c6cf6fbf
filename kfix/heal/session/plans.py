"""Plans as files: read, written, compared and countersigned, and their moves exported for Kafka's own tool."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kfix import __version__
from kfix.core.errors import UsageError
from kfix.core.private import new_private
from kfix.core.wording import utc_iso
from kfix.heal.gate.countersign import sign
from kfix.heal.gate.gates import flags
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.placement.reassignment_json import render
from kfix.heal.plan import planfile
from kfix.heal.plan.plandiff import differences
from kfix.heal.plan.steps import explain
from kfix.heal.session.site import Site


def read_plan(path: Path) -> Plan:
    """Reads a plan. Raises UsageError for a file that is not a plan, or was edited after it was made."""
    return planfile.read(path)


def write_plan(plan: Plan, path: Path) -> None:
    """Writes a plan to a new file. Raises UsageError if the file exists or cannot be written."""
    planfile.write(plan, path)


def plan_json(plan: Plan) -> str:
    return planfile.to_json(plan)


def steps_of(plan: Plan) -> Sequence[tuple[int, PlannedStep]]:
    """Returns (number, step) in the order of execution."""
    return explain(plan)


def approval_flags(plan: Plan) -> str:
    """Returns the flags that approve every gate of the plan."""
    return flags(plan)


def plan_differences(older: Plan, newer: Plan) -> list[tuple[str, str, str]]:
    """Returns (what, as it was, as it is) rows."""
    return [(d.what, d.was, d.is_) for d in differences(older, newer)]


def plan_notes(plan: Plan, site: Site) -> tuple[str, ...]:
    """Returns notes on a stored plan: why it would be refused, as far as that is known without reading its cluster."""
    found = [f"this plan is for cluster {plan.cluster.name}; the cluster was not read"]
    now = time.time()
    if now > plan.expires_at:
        found.append(f"it expired at {utc_iso(plan.expires_at)} (now {utc_iso(now)})")
    if plan.created.kfix != __version__:
        found.append(f"it was made by kfix {plan.created.kfix}; this is kfix {__version__}, which will refuse it")
    spent = site.store().spent_by(plan.plan_id)
    if spent is not None:
        found.append(f"it was already run as {spent.id} (kfix runbook history {spent.id})")
    if plan.undoes:
        found.append(f"it rolls back run {plan.undoes}")
    return tuple(found)


def write_moves(plan: Plan, path: Path) -> int:
    """Writes the plan's moves for kafka-reassign-partitions to a new file and returns their number.

    Raises UsageError if the plan moves no replica, or the file exists or cannot be written.
    """
    moves = [(s.args.tp(), s.args.brokers("replicas")) for s in plan.steps if s.action == "reassign.move"]
    if not moves:
        raise UsageError(f"plan {plan.short_id} moves no replica: there is nothing to write to {path}")
    try:
        with os.fdopen(new_private(path), "w", encoding="utf-8") as file:
            file.write(render(moves))
    except FileExistsError as error:
        raise UsageError(f"{path} exists and is not overwritten", hint="name another file with --json-out") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot write the moves: {error.strerror}") from error
    return len(moves)


def countersign_plan(plan: Plan, path: Path, reason: str) -> Mapping[str, Any]:
    """Signs a plan as the second person and returns the content of the signature file."""
    return sign(plan, path, reason, time.time())
