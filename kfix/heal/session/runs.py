"""Runs on this host: found, listed, read event by event, and their throttle changed from outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kfix.core.errors import RefusedError
from kfix.core.run import RunSummary
from kfix.front.text import utf8
from kfix.heal.execution.rethrottle import request_throttle
from kfix.heal.execution.run import whoami
from kfix.heal.journal.journal import ReadBack
from kfix.heal.journal.replay import replay
from kfix.heal.journal.runs import RunDir, process_here, summaries, summary
from kfix.heal.model.plan import Gate
from kfix.heal.session.site import Site


@dataclass(frozen=True, slots=True)
class Throttled:
    """A requested throttle. `gone` means that the run's process has ended, so only `resume` will apply the rate.

    `resume` is the command for that, which names the cluster as the run did.
    """

    run: str
    bytes_per_second: int
    gone: bool
    resume: str


def all_runs(site: Site) -> tuple[RunSummary, ...]:
    return tuple(summaries(site.store()))


def runs_folder(site: Site) -> Path:
    return site.store().runs_dir


def one_run(site: Site, text: str) -> tuple[RunDir, ReadBack, RunSummary]:
    """Returns a run, its journal and its summary. `text` is its id, or a part of it that only one run has.

    Raises UsageError if no run or several runs match.
    """
    found = site.store().find(text)
    return found, found.journal(), summary(found)


def rethrottle(site: Site, text: str, rate: str, policy: Path | None) -> Throttled:
    """Requests another throttle for a run. `rate` is in bytes per second for each broker, such as 50MB/s.

    Raises RefusedError if the run has ended or the site's policy requires approval for each throttle, UsageError if the
    run is unknown or sets no throttle.
    """
    found = site.store().find(text)
    plan, journal = found.plan(), found.journal()
    if site.policy(policy).gate("throttle.rate") > Gate.PLAN:
        raise RefusedError("the site's policy requires approval for each throttle: stop the run and make a new plan")
    before = replay(journal.records)
    if before.outcome:
        raise RefusedError(f"{found.id} has ended ({before.outcome}): its throttle can no longer be changed")
    bytes_per_second = request_throttle(found.path, plan, utf8("RATE", rate), str(whoami()["user"]))
    last = journal.records[-1] if journal.records else {}
    gone = process_here(last.get("who", {})) is False
    resume = f"kfix runbook resume {found.id}{f' {before.at}' if before.at else ''}"
    return Throttled(found.id, bytes_per_second, gone, resume)
