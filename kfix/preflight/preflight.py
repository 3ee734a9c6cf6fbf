"""Judges an act by a live cluster or by saved snapshots, once or until it is safe. It changes nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions
from kfix.core.derive.addressing import cluster_options
from kfix.core.derive.casefile import open_case
from kfix.core.derive.partition_facts import partitions_of
from kfix.core.diagnosis.finding import HEALTHY
from kfix.core.errors import UnreachableError
from kfix.core.failures.scenarios import live_of
from kfix.core.ports import Clock
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.snapshots import load_merged
from kfix.preflight.model import Act, Preflight

#: Seconds between two readings while waiting.
EVERY: Final = 3.0


def preflight_live(app: App, access: Access, act: Act, options: DiagnoseOptions) -> Preflight:
    """Returns the verdict by all sources of a live cluster; where one snapshot leaves a doubt a second is taken.

    Raises UsageError for a node or topic that does not exist, and UnreachableError if no source answers.
    """
    return preflight_of(act, app.clusters.diagnose(access, options)[1])


def preflight_saved(act: Act, paths: Sequence[Path], warn: Callable[[str], None]) -> Preflight:
    """As `preflight_live`, by saved snapshots; `warn` receives the assumptions of a merge."""
    return preflight_of(act, load_merged(paths, warn))


def preflight_of(act: Act, snapshot: Snapshot) -> Preflight:
    case = open_case(snapshot)
    return Preflight(
        act.words,
        snapshot.cluster.name,
        cluster_options(case),
        case.taken_at,
        tuple(sorted(live_of(case))),
        len(list(partitions_of(snapshot))),
        act.judge(case),
    )


def wait_until_safe(
    look: Callable[[], Preflight], within: float, clock: Clock, changed: Callable[[Preflight], None]
) -> Preflight:
    """Reads until the act is safe, only an operator can make it so, or `within` seconds have passed.

    `changed` receives each verdict that differs from the one before. Raises UnreachableError if the last one failed.
    """
    deadline = clock.monotonic() + within
    before: Preflight | None = None
    while True:
        late = clock.monotonic() >= deadline
        try:
            found = look()
        except UnreachableError:
            if late:
                raise
        else:
            if late or found.exit_code == HEALTHY or not found.may_become_safe:
                return found
            if before is None or before.assessment != found.assessment:
                changed(found)
            before = found
        clock.sleep(min(EVERY, max(0.0, deadline - clock.monotonic())))
