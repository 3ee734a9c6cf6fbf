"""What this host remembers beside what the cluster shows: runs that were begun here and not finished.

A diagnosis is pure over a snapshot, and no snapshot shows whose change was cut short: that is known from the run store.
"""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kfix.core.diagnosis.finding import Diagnosis, Finding, Remedy
from kfix.core.run import UnfinishedRun
from kfix.core.snapshot.snapshot import ReachedBy, Snapshot
from kfix.diagnose.snapshots import state_folder

UNNAMED = ReachedBy()
_SWEEP = "sweep-throttles"


def unfinished_runs() -> Callable[[Diagnosis, Snapshot], Diagnosis]:
    """Returns a function that adds unfinished runs to a diagnosis; loads nothing if no run was begun on this host."""
    home = state_folder()
    if home is None or not (home / "runs").is_dir():
        return lambda diagnosis, _snapshot: diagnosis
    return lambda diagnosis, seen: with_unfinished(diagnosis, seen.cluster.name, home, seen.reached_by)


def with_unfinished(diagnosis: Diagnosis, cluster: str, home: Path, reached_by: ReachedBy = UNNAMED) -> Diagnosis:
    """Returns the diagnosis with the unfinished runs of the cluster named `cluster`; `home` is kfix's state folder.

    Where such a run has set throttles, no finding advises to remove them behind its back: resume or abort does.
    """
    from kfix.heal.journal.runs import unfinished  # noqa: PLC0415 - only where a run was begun on this host

    # A plan has the address of its cluster, and neither its name nor client properties.
    options = f" {shlex.join(reached_by.options)}" if reached_by.options else ""
    runs = tuple(replace(run, options=options) for run in unfinished(home / "runs", cluster))
    if not runs:
        return diagnosis
    throttling = [run for run in runs if run.throttles]
    findings = diagnosis.findings
    if throttling:
        findings = tuple(_rather_end(finding, throttling[-1]) for finding in findings)
    return replace(diagnosis, findings=findings, unfinished=runs)


def _rather_end(finding: Finding, run: UnfinishedRun) -> Finding:
    remedies = tuple(r for each in finding.remedies for r in (_ends(run) if each.runbook == _SWEEP else (each,)))
    return replace(finding, remedies=remedies, folded=tuple(_rather_end(child, run) for child in finding.folded))


def _ends(run: UnfinishedRun) -> tuple[Remedy, ...]:
    if run.alive:
        return (Remedy(f"wait: run {run.id} set throttles, is still being carried out, and removes them at its end"),)
    return (
        Remedy(
            f"resume run {run.id}, which set throttles: it removes them at its end",
            f"kfix runbook resume {run.id}{run.options}",
        ),
        Remedy("or end that run: its throttles are removed", f"kfix runbook abort {run.id} --reason TEXT{run.options}"),
    )
