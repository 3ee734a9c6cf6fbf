"""`kfix watch`: a flight recorder, and a view of what is new, worse or fixed. It only reads the cluster."""

import re
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kfix.canary.model import NAME as CANARY_TOPIC
from kfix.canary.model import CanaryOptions
from kfix.core.diagnosis.finding import CANNOT_TELL, HEALTHY
from kfix.core.errors import UsageError
from kfix.core.timing import TIMING
from kfix.diagnose.diagnosis import as_the_inventory_says
from kfix.diagnose.rounds import JudgeOptions
from kfix.front.grouped import with_options
from kfix.front.options import (
    Debounce,
    RestartGrace,
    TransactionGrace,
    duration,
)
from kfix.front.plain import PlainConsole
from kfix.front.reaching import ClusterOptions, is_given
from kfix.front.seam import the_app
from kfix.front.terminal import reader_is_gone, say, say_json
from kfix.front.times import moment
from kfix.watch.canary import CanaryRequest
from kfix.watch.loop import Output, WatchOptions, is_healthy, verdict_of
from kfix.watch.model import WatchState
from kfix.watch.report.json_turn import WatchJson
from kfix.watch.report.view import WatchLog, WatchScreen
from kfix.watch.setup import SMALLEST_RING, WatchRequest, replay
from kfix.watch.setup import watch as watch_cluster

_LONGEST = 86_400
_MOST_HOURS = 24 * 366
_SIZE = re.compile(r"(\d{1,6})(?:\.\d+)? ?(MB|GB)")
_BYTES = {"MB": 1_000_000, "GB": 1_000_000_000}


@with_options
def watch(
    ctx: typer.Context,
    reach: ClusterOptions,
    every: Annotated[
        float, typer.Option("--every", parser=duration, metavar="TIME", help="Pause between two snapshots.")
    ] = 15.0,
    recorder: Annotated[
        Path | None,
        typer.Option("--recorder", metavar="DIR", help="Record in this folder; it is created if it does not exist."),
    ] = None,
    keep_hours: Annotated[
        float, typer.Option("--keep-hours", metavar="HOURS", help="Hours of recording to keep.")
    ] = 48.0,
    keep_size: Annotated[
        str,
        typer.Option("--keep-size", metavar="SIZE", help="Maximum size of the recording: 256MB, 2GB."),
    ] = "256MB",
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="healthy|TIME",
            help="End as soon as the cluster is healthy; with --from-recorder: at this time.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option("--within", parser=duration, metavar="TIME", help="End after this time at the latest."),
    ] = None,
    snapshots: Annotated[
        int | None, typer.Option("--snapshots", metavar="N", help="End after this number of snapshots.")
    ] = None,
    exporter: Annotated[
        str | None,
        typer.Option("--exporter", metavar="[HOST]:PORT", help="Serve metrics for Prometheus; :9308 is local."),
    ] = None,
    notify: Annotated[
        Path | None,
        typer.Option("--notify", metavar="FILE", help="Send changes to the receivers in this file."),
    ] = None,
    canary: Annotated[
        float | None,
        typer.Option(
            "--canary",
            parser=duration,
            metavar="TIME",
            help="Make a round of kfix canary this often; its results are metrics of --exporter.",
        ),
    ] = None,
    canary_topic: Annotated[
        str, typer.Option("--canary-topic", metavar="NAME", help="The topic of the canary; it must exist.")
    ] = CANARY_TOPIC,
    from_recorder: Annotated[
        Path | None,
        typer.Option("--from-recorder", metavar="DIR", help="Show the changes in a recording; no cluster is read."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="With --from-recorder: start, such as 2026-11-21T10:00 (UTC)."),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="GROUP", help="Also read this consumer group in depth.")
    ] = None,
    prevention: Annotated[bool, typer.Option("--prevention", help="Also report latent risks.")] = False,
    debounce: Debounce = TIMING.debounce,
    restart_grace: RestartGrace = TIMING.restart_grace,
    transaction_grace: TransactionGrace = TIMING.transaction_grace,
    lines: Annotated[
        bool, typer.Option("--lines", help="Print one line per change, as when the output is not a terminal.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per change, each on its own line.")
    ] = False,
) -> None:
    """Watch a cluster: take a snapshot every few seconds, record it, and show what is new, worse or fixed.

    Exit code: 0 as soon as --until healthy is met; otherwise that of the last snapshot: 0, 20, 21, 22, as diagnose.
    """
    if not 1 <= every <= 3600:
        raise UsageError("--every must be 1 to 3600 seconds")
    if not all(0 <= seconds <= _LONGEST for seconds in (debounce, restart_grace, transaction_grace)):
        raise UsageError(f"--debounce, --restart-grace and --transaction-grace must be 0 to {_LONGEST} seconds")
    canarying = _canarying(canary, canary_topic, exporter)
    if from_recorder is None and until not in (None, "healthy"):
        raise UsageError(f"--until: {until!r} is not known", hint="the only condition is: --until healthy")
    if (within is not None and not within > 0) or (snapshots is not None and snapshots < 1):
        raise UsageError("--within and --snapshots must be greater than 0")
    if not 0 < keep_hours <= _MOST_HOURS:
        raise UsageError(f"--keep-hours must be greater than 0 and at most {_MOST_HOURS}")
    view = _view(lines=lines, json=json_output, drawn=from_recorder is None)
    if from_recorder is not None:
        if reach.is_given or any((recorder, exporter, notify)):
            raise UsageError("--from-recorder reads a recording; leave out the options for a live cluster")
        period = (moment("--since", since), moment("--until", until))
        judging = JudgeOptions(debounce, restart_grace, transaction_grace, prevention, every=every)
        raise typer.Exit(replay(from_recorder, WatchOptions(judging), [view.show], period))
    if since:
        raise UsageError("--since is for --from-recorder")
    access = reach.access()
    own = access.criteria
    if not is_given(ctx, "restart_grace"):
        restart_grace = own.restart_grace
    options = WatchOptions(
        JudgeOptions(debounce, restart_grace, transaction_grace, prevention, own.expected, own.zones, every),
        tuple(group or ()),
        until_healthy=until is not None,
        within=within,
        most=snapshots,
        name=access.name or reach.address,
    )
    request = WatchRequest(options, recorder, size_of(keep_size), keep_hours, exporter, notify, canarying)
    # A script that requested this reads 0 as healthy.
    signal.signal(signal.SIGTERM, partial(_end, HEALTHY if until is None else CANNOT_TELL))
    in_context = partial(as_the_inventory_says, access=access)
    show = view.show if recorder or exporter or notify else _until_unread(view.show, healthy=until is not None)
    raise typer.Exit(watch_cluster(the_app(ctx), access, request, [show], in_context))


def _canarying(every: float | None, topic: str, exporter: str | None) -> CanaryRequest | None:
    if every is None:
        return None
    if exporter is None or not 1 <= every <= _LONGEST:
        raise UsageError(f"--canary is 1 to {_LONGEST} seconds, and needs --exporter for its results")
    return CanaryRequest(every, CanaryOptions(topic=topic))


def _until_unread(show: Output, *, healthy: bool) -> Output:
    """Returns what ends a watch that only prints once the reader of its output is gone, such as `head`."""

    def shown(state: WatchState) -> None:
        show(state)
        if reader_is_gone():
            code = verdict_of(state)
            raise typer.Exit(CANNOT_TELL if healthy and not is_healthy(state) else code)

    return shown


def _view(*, lines: bool, json: bool, drawn: bool) -> WatchJson | WatchScreen | WatchLog:
    """Returns what shows the states; `drawn` on a terminal. Raises UsageError for --lines with --json."""
    if lines and json:
        raise UsageError("--lines is for people, and --json for programs", hint="give one of them")
    if json:
        return WatchJson(partial(say_json, ascii_only=False), lambda text: say(f"kfix: {text}", err=True))
    console = PlainConsole(sys.stdout)
    return WatchScreen(console) if drawn and not lines and sys.stdout.isatty() else WatchLog(console)


def size_of(text: str) -> int:
    """Returns bytes. Raises UsageError if the text is not a size, or if no recording fits in it."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--keep-size: {text!r} is not a size", hint="such as 256MB or 2GB")
    size = int(float(text.strip().removesuffix(found[2])) * _BYTES[found[2]])
    if size < SMALLEST_RING:
        raise UsageError("--keep-size must be at least 1MB")
    return size


def _end(code: int, *_: Any) -> None:
    """Ends the watch for a service manager: closes everything as Ctrl-C does, and is no failure."""
    raise SystemExit(code)
