"""Progress of collecting: a bar on a terminal, plain lines in a pipe; and the outcome."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kfix.core.wording import several
from kfix.front.console import styled

# In a pipe each failure is a line; progress is a line every so many seconds.
_PIPE_EVERY = 10.0


class Listener(Protocol):
    def __call__(self, name: str, error: str) -> None: ...


@contextmanager
def progress(total: int, console: Console, *, quiet: bool, what: str = "collecting") -> Iterator[Listener]:
    """Yields a function to call for each cluster that is done, with its error or ""."""
    if quiet:
        yield lambda name, error: None  # noqa: ARG005 - quiet
    elif console.file.isatty():
        with _bar(console, what) as bar:
            task = bar.add_task("", total=total, failed="")
            yield _Bar(bar, task).hear
    else:
        yield _Lines(total, console, what).hear


def _bar(console: Console, what: str) -> Progress:
    return Progress(
        TextColumn(what, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}", markup=False, style="red"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


class _Bar:
    def __init__(self, bar: Progress, task: Any) -> None:
        self._bar, self._task, self._failed = bar, task, 0

    def hear(self, name: str, error: str) -> None:
        if error:
            self._failed += 1
            self._bar.console.print(styled(f"{name}: {error}", "red"))
        self._bar.update(self._task, advance=1, failed=f"{self._failed} failed" if self._failed else "")


class _Lines:
    def __init__(self, total: int, console: Console, what: str) -> None:
        self._total, self._console, self._what = total, console, what
        self._done = self._failed = 0
        self._printed_at = time.monotonic()

    def hear(self, name: str, error: str) -> None:
        self._done += 1
        if error:
            self._failed += 1
            self._print(f"{name}: {error}")
        now = time.monotonic()
        if now - self._printed_at >= _PIPE_EVERY and self._done < self._total:
            self._printed_at = now
            self._print(f"{self._what}: {self._done} of {self._total} clusters, {self._failed} failed")

    def _print(self, text: str) -> None:
        self._console.print(styled(text), soft_wrap=True)


def collected_json(run: Any, resumed: int, seconds: float) -> dict[str, Any]:
    """`run` is a `kfix.fleet.store.runs.Run`."""
    return {
        "run": run.id,
        "date": run.day.isoformat(),
        "place": str(run.root),
        "clusters": dict(run.clusters),
        "failed": dict(run.failed),
        "silent": {n: s for n, e in _entries(run).items() if (s := e.get("silent"))},
        "resumed": resumed,
        "seconds": round(seconds, 3),
    }


def show_collected(run: Any, resumed: int, seconds: float, console: Console) -> None:
    total = len(run.clusters) + len(run.failed)
    again = f", {resumed} of them earlier" if resumed else ""
    console.print(
        f"collected {len(run.clusters)} of {several(total, 'cluster')}{again}: "
        f"{several(sum(run.clusters.values()), 'partition')} in {seconds:.1f} s",
        soft_wrap=True,
    )
    for name, entry in sorted(_entries(run).items()):
        if entry.get("silent"):
            console.print(styled(f"partly read: {name}: {', '.join(entry['silent'])}", "yellow"), soft_wrap=True)
    for name, why in run.failed.items():
        console.print(styled(f"not collected: {name}: {why}", "red"), soft_wrap=True)
    console.print(styled(f"run {run.id} of {run.day}: {run.root}"), soft_wrap=True)


def _entries(run: Any) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = run.manifest.get("entries", {})
    return found
