"""Unfinished runs of this host: what they changed, until when, and how to continue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kfix import __version__
from kfix.core.wording import some
from kfix.front.lines import Line

if TYPE_CHECKING:
    from kfix.core.run import UnfinishedRun

_STEPS_SHOWN = 4
_STEP = 2


def unfinished_lines(runs: tuple[UnfinishedRun, ...]) -> Iterator[Line]:
    if runs:
        yield Line("")
        yield Line("unfinished runs on this host:", style="bold yellow")
    for run in runs:
        yield Line(f"{run.id}: {run.runbook} for {run.finding}, by {run.user} on {run.host}", _STEP, hang=_STEP)
        yield Line(f"{_fate(run)}; {_deeds(run)}", 2 * _STEP, hang=_STEP)
        yield Line(_next(run), 2 * _STEP, "green", verbatim=True)


def _fate(run: UnfinishedRun) -> str:
    if run.alive:
        return f"began {run.began}; its process is still carrying it out"
    if run.broken:
        return f"began {run.began}; its journal is damaged after {run.last}, so it may have changed more"
    end = f"stopped {run.last} ({run.outcome.replace('_', ' ')})" if run.outcome else f"was killed after {run.last}"
    return f"began {run.began}, {end}"


def _deeds(run: UnfinishedRun) -> str:
    parts = [f"changed {some(run.changed, _STEPS_SHOWN)}"] if run.changed else []
    parts += [f"the result of {some(run.doubtful, _STEPS_SHOWN)} is unknown"] if run.doubtful else []
    parts += ["its throttles are still set"] if run.throttles else []
    parts += ["its settings of compaction are still set"] if run.compaction else []
    return "; ".join(parts) or "what it changed is unknown"


def _next(run: UnfinishedRun) -> str:
    if run.alive or run.broken or run.kfix != __version__:
        return f"kfix runbook history {run.id}"
    resume = f"kfix runbook resume {run.id}{run.options}"
    return f"{resume}   or   kfix runbook abort {run.id} --reason TEXT{run.options}"
