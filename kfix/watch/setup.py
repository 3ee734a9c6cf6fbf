"""Builds a watch from a request and closes it again; also watches a recording."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.access import Access
from kfix.core.errors import UsageError
from kfix.diagnose.rounds import RoundJudge
from kfix.watch.loop import ClusterWatch, Output, Passing, WatchOptions, unchanged, verdict_of
from kfix.watch.model import Watched, WatchState
from kfix.watch.turns import compare, lose

if TYPE_CHECKING:
    from kfix.core.application import App
    from kfix.watch.canary import CanaryRequest
    from kfix.watch.notify.settings import Receiver

SMALLEST_RING = 1_000_000
#: A watch that has shown no state, not even that the cluster does not answer, for longer than this is stuck.
_LATE_ROUNDS, _LATE_SECONDS = 3, 60.0


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Further outputs of a watch; None: not requested.

    `canary` is how often a client of its own makes a round, and what it tries.
    `recorder` is the folder of its ring, bounded by `size` bytes and `hours`; `exporter` is the address of its metrics,
    `notify` the file of receivers.
    """

    options: WatchOptions
    recorder: Path | None = None
    size: int = 256_000_000
    hours: float = 48.0
    exporter: str | None = None
    notify: Path | None = None
    canary: CanaryRequest | None = None


def watch(
    app: App, access: Access, request: WatchRequest, views: Sequence[Output], passing: Passing = unchanged
) -> int:
    """Watches a cluster until a condition of the request holds, or forever, and returns the exit code.

    Raises UsageError for an unusable file, folder or address, and HeldError if another watch records in the folder.
    """
    access.target()  # Refuses an invalid address before it opens anything.
    latest = [WatchState(request.options.name, app.clock.now(), request.options.judging.every)]
    receivers: tuple[Receiver, ...] = ()
    if request.notify is not None:
        from kfix.watch.notify.settings import load_receivers  # noqa: PLC0415 - only who notifies

        receivers = load_receivers(request.notify, app.environ)
    # Closed in reverse order: the recording outlasts everything.
    with ExitStack() as opened:
        recorder = None
        if request.recorder is not None:
            from kfix.core.recorder.ring import Recorder, RingBounds  # noqa: PLC0415 - only who records

            recorder = Recorder(request.recorder, RingBounds(request.size, request.hours))
            opened.callback(recorder.close)
            opened.callback(recorder.write_waiting)
        notifying = None
        if receivers:
            from kfix.watch.notifying import Notifying  # noqa: PLC0415 - as above

            notifying = Notifying(receivers)
            opened.callback(notifying.close)
        canary = None
        if request.canary is not None:
            from kfix.watch.canary import CanaryThread  # noqa: PLC0415 - as above

            canary = CanaryThread(access.target(), request.canary)
            opened.callback(canary.close)

        def present() -> WatchState:
            return latest[0] if canary is None else replace(latest[0], canary=canary.state)

        url = ""
        if request.exporter is not None:
            from kfix.watch.exporter import Exporter  # noqa: PLC0415 - only who is scraped
            from kfix.watch.report.metrics import watch_metrics  # noqa: PLC0415

            exporter = Exporter(
                request.exporter,
                lambda: watch_metrics(present(), app.clock.now()),
                lambda: app.clock.now() - latest[0].at < _LATE_ROUNDS * latest[0].every + _LATE_SECONDS,
            )
            opened.callback(exporter.close)
            url = exporter.url

        def output(state: WatchState) -> None:
            if notifying is not None:
                notifying.send(state)
                state = replace(state, receivers=notifying.states)
            latest[0] = replace(state, exporter=url)
            for view in views:
                view(latest[0])

        return ClusterWatch(app, access, request.options, [output], recorder=recorder, passing=passing).run()


def replay(
    folder: Path,
    options: WatchOptions,
    views: Sequence[Output],
    period: tuple[float | None, float | None] = (None, None),
    passing: Passing = unchanged,
) -> int:
    """Judges a recording as the watch judged it at the time, and returns the exit code of its last snapshot.

    `period` is (since, until) in seconds since the epoch. Raises UsageError if the folder holds no such recording.
    """
    from kfix.core.recorder.reading import Recording  # noqa: PLC0415 - only who replays

    recording, judging, watched = Recording(folder), RoundJudge(options.judging), Watched()
    state = WatchState(str(folder), recording.since, options.judging.every, began=recording.since)
    for record in recording.records(*period):
        if record.snapshot is None:
            if record.what != "lost":
                continue
            watched, turns = lose(watched, record.at, record.text)
            state = replace(state, at=record.at, diagnosis=None, error=record.text, turns=turns, watched=watched)
        else:
            # Judged by the clock of that time, as the watch did.
            judged = judging.judge(replace(record.snapshot, taken_at=record.snapshot.taken_at - record.shift))
            diagnosis = passing(judged.diagnosis)
            turns = ()
            if judged.confirmed:
                watched, turns = compare(watched, diagnosis)
            state = replace(
                state,
                name=diagnosis.cluster,
                cluster=diagnosis.cluster,
                at=record.at,
                diagnosis=diagnosis,
                confirmed=judged.confirmed,
                error="",
                turns=turns,
                watched=watched,
                snapshots=state.snapshots + 1,
            )
        for view in views:
            view(state)
    if not state.snapshots:
        raise UsageError(
            f"{folder}: holds no snapshot of this period", hint="its period: kfix watch --from-recorder DIR"
        )
    return verdict_of(state)
