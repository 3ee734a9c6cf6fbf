"""The loop of `kfix watch`: read, record, judge, compare, show; then wait. It only reads the cluster.

If a cluster does not answer, the watch reports it once, and tries again after the usual pause.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kfix.core.access import Access
from kfix.core.clusters import SnapshotOptions
from kfix.core.cyclic import without_collector
from kfix.core.diagnosis.finding import CANNOT_TELL, HEALTHY, Diagnosis, Severity
from kfix.core.errors import KfixError, OwnLimitError, UnreachableError
from kfix.core.snapshot.group_reading import by_group, seconds_behind
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.snapshot.traffic import Traffic, in_all
from kfix.core.wording import ago
from kfix.diagnose.report.verdict import exit_code
from kfix.diagnose.rounds import JudgeOptions, RoundJudge
from kfix.heal.unfinished import unfinished_runs
from kfix.watch.model import RecorderState, ServerCost, Turn, Watched, WatchState
from kfix.watch.turns import compare, lose

if TYPE_CHECKING:
    from kfix.core.application import App
    from kfix.core.recorder.ring import Recorder

Output = Callable[[WatchState], None]
#: Every diagnosis passes through this function before anything of it is shown, counted or sent.
Passing = Callable[[Diagnosis], Diagnosis]

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def unchanged(diagnosis: Diagnosis) -> Diagnosis:
    return diagnosis


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What the watch reads and when it ends: `until_healthy`, after `within` seconds, or after `most` snapshots (None:
    never).

    `name` is the cluster's name in the outputs before it has answered.
    """

    judging: JudgeOptions
    groups: tuple[str, ...] = ()
    until_healthy: bool = False
    within: float | None = None
    most: int | None = None
    name: str = ""


class ClusterWatch:
    """One watch of one cluster; `run` returns its exit code."""

    def __init__(
        self,
        app: App,
        access: Access,
        options: WatchOptions,
        outputs: Sequence[Output],
        *,
        recorder: Recorder | None = None,
        passing: Passing = unchanged,
    ) -> None:
        self._app, self._access, self._options = app, access, options
        self._outputs, self._recorder, self._passing = outputs, recorder, passing
        self._judging = RoundJudge(options.judging)
        self._watched = Watched()
        self._costs: dict[str, Traffic] = {}
        self._names: dict[str, str] = {}
        #: {broker: time of its last answer, by the monotonic clock}
        self._answered: dict[int, float] = {}
        #: When the recording began to lack snapshots, by the monotonic clock, and why.
        self._unrecorded: tuple[float, str] | None = None
        self._lost = False
        self._state = WatchState(
            options.name, app.clock.now(), options.judging.every, target=options.name, began=app.clock.now()
        )

    def run(self) -> int:
        began = self._app.clock.monotonic()
        options, every = self._options, self._options.judging.every
        while True:
            at = self._app.clock.monotonic()
            again_in = self._round()
            took = self._app.clock.monotonic() - at
            pause = max(min(every, again_in or every) - took, 0.0)
            self._show(pause)
            if options.until_healthy and is_healthy(self._state):
                return 0
            left = None if options.within is None else options.within - (self._app.clock.monotonic() - began)
            if (left is not None and left <= 0) or self._state.snapshots + self._state.failures == options.most:
                code = verdict_of(self._state)
                # The snapshot has no warning, and yet is not healthy: muted, in a maintenance window, or just changing.
                return CANNOT_TELL if options.until_healthy and code == HEALTHY else code
            self._app.clock.sleep(pause if left is None else min(pause, left))

    def _round(self) -> float:
        """Takes one snapshot and returns the seconds after which another one would settle a doubt, or 0."""
        began = self._app.clock.monotonic()
        try:
            with without_collector():
                options = SnapshotOptions(self._options.groups, keep=False)
                snapshot = self._app.clusters.snapshot(self._access, options)
                again_in = self._judge(self._with_answers(snapshot, began))
        except KfixError as error:
            if not (isinstance(error, UnreachableError) or self._state.snapshots):
                raise
            self._lose(error)
            again_in = 0.0
        self._state = replace(self._state, reading=self._app.clock.monotonic() - began)
        return again_in

    def _with_answers(self, snapshot: Snapshot, began: float) -> Snapshot:
        """Returns the snapshot with the last answer of each broker, by the clock of this snapshot.

        The times are kept by the monotonic clock: setting the clock during the watch does not make a broker seem gone
        for longer.
        """
        alive = {broker: snapshot.taken_at - (began - at) for broker, at in self._answered.items()}
        self._answered |= dict.fromkeys(snapshot.views, began)
        memory = replace(snapshot.memory, alive={**snapshot.memory.alive, **alive})
        return replace(snapshot, memory=memory) if alive else snapshot

    def _judge(self, snapshot: Snapshot) -> float:
        self._count(snapshot)
        self._record(snapshot)
        judged = self._judging.judge(snapshot)
        diagnosis = self._passing(unfinished_runs()(judged.diagnosis, snapshot))
        turns: tuple[Turn, ...] = ()
        if judged.confirmed:
            self._watched, turns = compare(self._watched, diagnosis)
        whole = judged.diagnosis.taken_at if not judged.diagnosis.could_not_read else self._state.complete_at
        self._state = replace(
            self._state,
            name=_name(diagnosis),
            cluster=diagnosis.cluster,
            at=snapshot.taken_at,
            diagnosis=diagnosis,
            lags=_lags(snapshot),
            confirmed=judged.confirmed,
            error="",
            turns=turns,
            watched=self._watched,
            snapshots=self._state.snapshots + 1,
            complete_at=whole,
            maintenance=diagnosis.maintenance,
        )
        return judged.again_in

    def _lose(self, error: KfixError) -> None:
        """Keeps all findings; the cluster is lost only if it was asked."""
        now = self._app.clock.now()
        turns: tuple[Turn, ...] = ()
        if isinstance(error, OwnLimitError):
            self._unrecorded = self._unrecorded or (self._app.clock.monotonic(), str(error))
        else:
            self._watched, turns = lose(self._watched, now, str(error))
            self._remark_lost(str(error))
        self._state = replace(
            self._state,
            at=now,
            diagnosis=None,
            confirmed=False,
            error=str(error),
            turns=turns,
            watched=self._watched,
            failures=self._state.failures + 1,
            maintenance=self._passing(Diagnosis(self._state.cluster, now, ())).maintenance,
        )

    def _remark_lost(self, error: str) -> None:
        if self._recorder is None:
            return
        if self._lost:
            self._recorder.write_waiting()
        else:
            self._recorder.remark("lost", error)
            self._lost = True

    def _record(self, snapshot: Snapshot) -> None:
        if self._recorder is None:
            return
        if self._lost:
            self._recorder.remark("back", "a source of the cluster answers again")
            self._lost = False
        now = self._app.clock.monotonic()
        if not self._recorder.store(snapshot):
            self._unrecorded = self._unrecorded or (now, self._recorder.paused)
        elif self._unrecorded is not None:
            since, why = self._unrecorded
            self._recorder.remark("paused", f"no snapshot was recorded for {ago(now - since)}: {why}")
            self._unrecorded = None

    def _count(self, snapshot: Snapshot) -> None:
        self._costs = in_all(self._costs, snapshot.traffic)
        self._names |= {node.address: f"zookeeper {node.address}" for node in snapshot.ensemble}
        self._names |= {str(address): f"broker {broker}" for broker, address in snapshot.addresses.items()}

    def _show(self, pause: float) -> None:
        costs = tuple(ServerCost(self._names.get(a, a), *traffic) for a, traffic in self._costs.items())
        self._state = replace(
            self._state,
            next_in=pause,
            cpu=time.process_time(),
            memory=resident(),
            costs=costs,
            recorder=None if self._recorder is None else recorder_state(self._recorder),
        )
        for output in self._outputs:
            output(self._state)


def recorder_state(recorder: Recorder) -> RecorderState:
    bounds = recorder.bounds
    return RecorderState(
        str(recorder.folder), recorder.size, recorder.hours, bounds.size, bounds.hours, recorder.paused
    )


def resident() -> int:
    """Returns the resident size of this process in bytes, 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read four times a minute
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def is_healthy(state: WatchState) -> bool:
    """Whether the last snapshot shows a healthy cluster: every source was read, and nothing has just changed.

    A cluster in maintenance, or with a muted warning or critical finding, is not healthy.
    """
    diagnosis = state.diagnosis
    if diagnosis is None or not state.confirmed or state.watched.standing or diagnosis.could_not_read:
        return False
    if any(each.finding.severity >= Severity.WARNING for each in diagnosis.muted):
        return False
    return exit_code(diagnosis) == 0 and not diagnosis.headlines


def verdict_of(state: WatchState) -> int:
    """Returns the exit code of a watch that ends: the last diagnosis's, or 22 if the cluster did not answer."""
    return CANNOT_TELL if state.diagnosis is None or not state.confirmed else exit_code(state.diagnosis)


def _name(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.profile} ({diagnosis.cluster})" if diagnosis.profile else diagnosis.cluster


def _lags(snapshot: Snapshot) -> dict[str, tuple[int, float | None]]:
    """Returns {group: the records that it is behind, and the seconds}, by this snapshot and what is remembered."""
    remembered = {each.group: each for each in snapshot.memory.positions}
    found: dict[str, tuple[int, float | None]] = {}
    for group, readings in by_group(snapshot.group_readings).items():
        if (lag := readings[-1].lag) is not None:
            was = remembered.get(group)
            found[group] = lag, None if was is None else seconds_behind(was, readings[-1])
    return found
