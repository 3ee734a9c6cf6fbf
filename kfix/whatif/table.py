"""The forecast of failures for people, and its exit code (docs/exit-codes.md)."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console

from kfix.core.derive.coordinator import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.diagnosis.forecast import Failure, FailureForecast, Fate, Forecast, PartitionForecast
from kfix.core.failures.scenarios import MOST_FOR_PAIRS
from kfix.core.wording import brokers_named, several
from kfix.diagnose.advice import remedies_of
from kfix.diagnose.report.table import GROUPS_SHOWN, STEP, remedy_lines
from kfix.front.lines import Line, lines_text, print_lines

ROWS_SHOWN: Final = 12
PARTITIONS_SHOWN: Final = 12
_TOPICS_SHOWN: Final = 20
_SOMETIMES: Final = {"elected unclean", "unknown", "quorum"}
_STOP, _DEGRADE, _FINE, _UNKNOWN = "bold red", "bold yellow", "bold green", "bold yellow"


def exit_code(forecast: Forecast) -> int:
    """Returns 21 if something stops, even if other facts are unknown; otherwise 22 if something is unknown."""
    if any(f.something_stops for f in forecast.failures):
        return CRITICAL
    if forecast.unknown or any(f.unjudged for f in forecast.failures):
        return CANNOT_TELL
    return WARNINGS if any(f.something_degrades for f in forecast.failures) else HEALTHY


def print_forecast(forecast: Forecast, console: Console, *, chosen: bool) -> None:
    """Prints the forecast; `chosen`: one failure was requested, and its partitions are named."""
    print_lines(chosen_lines(forecast) if chosen else overview_lines(forecast), console)


def forecast_text(forecast: Forecast, *, chosen: bool, width: int = 100) -> str:
    return lines_text(chosen_lines(forecast) if chosen else overview_lines(forecast), width)


def failure_name(failure: Failure) -> str:
    """Returns `broker 3`, `brokers 3, 4`, or `rack b (brokers 2, 5)`."""
    if failure.controllers:
        names = ", ".join(map(str, sorted(failure.controllers)))
        return f"controller{'' if len(failure.controllers) == 1 else 's'} {names}"
    brokers = brokers_named(failure.brokers)
    if not failure.racks:
        return brokers
    return f"rack{'' if len(failure.racks) == 1 else 's'} {', '.join(failure.racks)} ({brokers})"


def _at(forecast: Forecast) -> str:
    return datetime.fromtimestamp(forecast.taken_at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _judged(forecast: Forecast) -> Line:
    partitions = f"{several(forecast.partitions, 'partition')} of {several(forecast.topics, 'topic')}"
    return Line(f"judged {partitions} on {several(len(forecast.brokers), 'live broker')}", style="dim", hang=STEP)


def overview_lines(forecast: Forecast) -> Iterator[Line]:
    yield Line(f"{forecast.cluster}: {_overview(forecast)} ({_at(forecast)})", style=_style(forecast), hang=STEP)
    yield _judged(forecast)
    if stopped := _stopped_today(forecast.failures[0]):
        yield Line(stopped, style=_DEGRADE, hang=STEP)
    yield Line("")
    yield from _table(forecast.failures)
    if len(forecast.brokers) > MOST_FOR_PAIRS:
        yield Line("")
        yield Line(
            f"pairs of brokers are judged up to {MOST_FOR_PAIRS} brokers; ask for one: --down broker=1,2", hang=STEP
        )
    yield from _unknown(forecast)
    worst = forecast.failures[0]
    yield Line("")
    yield Line(f"the partitions and groups of one: kfix whatif --down {_option(worst.failure)}", style="dim", hang=STEP)


def _overview(forecast: Forecast) -> str:
    total = len(forecast.failures)
    stop = sum(f.something_stops for f in forecast.failures)
    degrade = sum(f.something_degrades and not f.something_stops for f in forecast.failures)
    failures = several(total, "failure")
    if stop or degrade:
        return f"of {failures}, {stop or 'none'} would stop something, {degrade or 'none'} would only degrade something"
    unjudged = any(f.unjudged for f in forecast.failures) or forecast.unknown
    return f"{failures} judged, nothing would stop{', as far as is known' if unjudged else ''}"


def _style(forecast: Forecast) -> str:
    return {HEALTHY: _FINE, WARNINGS: _DEGRADE, CRITICAL: _STOP, CANNOT_TELL: _UNKNOWN}[exit_code(forecast)]


def _table(failures: Sequence[FailureForecast]) -> Iterator[Line]:
    """Yields the worst failures; columns that are rarely of interest are left out where they are empty."""
    shown = failures[:ROWS_SHOWN]
    columns = [
        ("stops", [str(f.stops) for f in shown]),
        ("elected unclean", [str(f.unclean) for f in shown]),
        ("under min ISR", [str(f.under_min_isr) for f in shown]),
        ("last in-sync replica", [str(f.last_in_sync) for f in shown]),
        ("groups", [str(len(f.groups)) for f in shown]),
        ("unknown", [str(f.unjudged) for f in shown]),
        ("quorum", ["lost" if f.quorum_lost else "" for f in shown]),
    ]
    columns = [(name, cells) for name, cells in columns if name not in _SOMETIMES or set(cells) - {"0", ""}]
    names = ["down", *(failure_name(f.failure) for f in shown)]
    width = max(map(len, names))
    yield Line("  ".join((names[0].ljust(width), *(name for name, _ in columns))), style="bold", verbatim=True)
    for row, failure in enumerate(shown):
        cells = (cells[row].rjust(len(name)) for name, cells in columns)
        yield Line("  ".join((names[row + 1].ljust(width), *cells)).rstrip(), style=_row_style(failure), verbatim=True)
    rest = len(failures) - len(shown)
    if rest:
        yield Line(f"and {rest} more, none of them worse", style="dim")


def _row_style(failure: FailureForecast) -> str:
    return "red" if failure.something_stops else "yellow" if failure.something_degrades or failure.unjudged else ""


def _option(failure: Failure) -> str:
    if failure.racks:
        return f"rack={','.join(failure.racks)}"
    kind, members = ("controller", failure.controllers) if failure.controllers else ("broker", failure.brokers)
    return f"{kind}={','.join(map(str, sorted(members)))}"


def chosen_lines(forecast: Forecast) -> Iterator[Line]:
    [one] = forecast.failures
    verdict = f"if {failure_name(one.failure)} went down, {_verdict(forecast, one)}"
    yield Line(f"{forecast.cluster}: {verdict} ({_at(forecast)})", style=_style(forecast), hang=STEP)
    yield _judged(forecast)
    for title, style, found in _sections(one):
        yield from _section(title, style, found)
    yield from _groups(forecast, one)
    yield from _around(one, kraft=forecast.kraft)
    yield from _unknown(forecast)
    if remedies := remedies_of(forecast, one):
        yield Line("")
        yield from remedy_lines(remedies, 0)


def _verdict(forecast: Forecast, one: FailureForecast) -> str:
    parts = [f"{several(one.stops, 'partition')} would stop"] if one.stops else []
    if one.unclean:
        parts.append(f"{several(one.unclean, 'partition')} would lose records by an unclean election")
    if one.groups:
        parts.append(f"{several(len(one.groups), 'known group')} would stop")
    if one.under_min_isr:
        parts.append(f"{several(one.under_min_isr, 'partition')} would refuse acks=all")
    if one.quorum_lost:
        lost = "the controllers would lose their majority, so that nothing can change"
        parts.append(lost if forecast.kraft else "ZooKeeper would lose its quorum with their hosts")
    if not parts and one.last_in_sync:
        parts.append(f"{several(one.last_in_sync, 'partition')} would be left with the last in-sync replica")
    if parts:
        return "; ".join(parts)
    return "nothing that is known would stop" if one.unjudged or forecast.unknown else "nothing would stop"


def _sections(one: FailureForecast) -> Iterator[tuple[str, str, list[PartitionForecast]]]:
    def those(*fates: Fate) -> list[PartitionForecast]:
        return [p for p in one.partitions if p.fate in fates]

    yield "no leader until a broker comes back (no in-sync replica is left)", _STOP, those(Fate.STOPS)
    stranded = "no leader although an in-sync replica is left: ZooKeeper's record has diverged (KFX201)"
    yield stranded, _STOP, those(Fate.STRANDED)
    yield "elected unclean, records lost", _STOP, those(Fate.UNCLEAN)
    under = [p for p in one.partitions if p.falls_under]
    yield "under min.insync.replicas: producers with acks=all stop", _DEGRADE, under
    last = [p for p in one.partitions if p.left_with_last and not p.falls_under]
    yield "left with the last in-sync replica", _DEGRADE, last
    unknown = [p for p in one.partitions if p.fate is Fate.UNKNOWN or p.falls_under is None]
    yield "unknown: a setting, the record or the metadata was not read", _UNKNOWN, unknown
    stopped = those(Fate.STOPPED)
    yield "already without a leader today, so not caused by this", "bold", [p for p in stopped if p.leader == -1]
    yield (
        "without a leader today; the failure would trigger their election",
        "bold",
        [p for p in stopped if p.leader != -1],
    )


def _section(title: str, style: str, partitions: list[PartitionForecast]) -> Iterator[Line]:
    if not partitions:
        return
    yield Line("")
    yield Line(f"{title}: {several(len(partitions), 'partition')}", style=style, hang=STEP)
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.tp.topic, []).append(partition.tp.partition)
    for topic, numbers in list(topics.items())[:_TOPICS_SHOWN]:
        more = f" and {len(numbers) - PARTITIONS_SHOWN} more" if len(numbers) > PARTITIONS_SHOWN else ""
        yield Line(f"{topic}: {', '.join(map(str, numbers[:PARTITIONS_SHOWN]))}{more}", STEP, hang=STEP)
    if len(topics) > _TOPICS_SHOWN:
        yield Line(f"and {several(len(topics) - _TOPICS_SHOWN, 'more topic')} (all with --json)", STEP)


def _groups(forecast: Forecast, one: FailureForecast) -> Iterator[Line]:
    others = "" if forecast.groups_known else ", and possibly others: not every broker listed its groups"
    if one.offsets:
        yield Line("")
        yield Line(f"groups whose coordinator stops: {_names(one.groups)}{others}", style=_STOP, hang=STEP)
    if one.offsets_under:
        yield Line("")
        yield Line(
            f"groups that can no longer commit or rebalance ({OFFSETS_TOPIC} under min.insync.replicas): "
            f"{_names(one.unwritable)}{others}",
            style=_DEGRADE,
            hang=STEP,
        )
    if one.transactions:
        numbers = ", ".join(map(str, one.transactions))
        yield Line("")
        yield Line(
            f"transactional ids that hash to {TRANSACTIONS_TOPIC} {numbers} stop; a snapshot does not contain their "
            "names",
            style=_STOP,
            hang=STEP,
        )
    if one.share_states:
        numbers = ", ".join(map(str, one.share_states))
        yield Line("")
        yield Line(
            f"share groups that read a partition whose state hashes to {SHARE_TOPIC} {numbers} stop; a snapshot does "
            "not contain their names",
            style=_STOP,
            hang=STEP,
        )


def _names(groups: tuple[str, ...]) -> str:
    rest = len(groups) - GROUPS_SHOWN
    return f"{', '.join(groups[:GROUPS_SHOWN])}{f' and {rest} more' if rest > 0 else ''}" if groups else "none by name"


def _around(one: FailureForecast, *, kraft: bool) -> Iterator[Line]:
    yield Line("")
    moves = (
        f"{several(one.moves, 'partition')} would move {'its' if one.moves == 1 else 'their'} leader, losing nothing"
    )
    yield Line(moves if one.moves else "no other leader would move", hang=STEP)
    node = "controller becomes active" if kraft else "broker becomes the controller"
    stays = f"the {'active ' if kraft else ''}controller stays"
    controller = {True: f"another {node}", False: stays, None: "unknown"}
    lost = "none is active until a majority of them is back" if kraft and one.quorum_lost else ""
    yield Line(f"controller: {lost or controller[one.controller_moves]}", hang=STEP)
    if kraft:
        return
    quorum = {
        True: "loses its quorum if the hosts of these brokers go down, too: then no leader moves until it is back",
        False: "keeps its quorum, even if the hosts of these brokers go down, too",
        None: "whether its servers share hosts with these brokers is unknown",
    }
    yield Line(f"ZooKeeper: {quorum[one.quorum_lost]}", hang=STEP)


def _stopped_today(one: FailureForecast) -> str:
    return f"{several(one.stopped, 'partition')} without a leader today: not counted below" if one.stopped else ""


def _unknown(forecast: Forecast) -> Iterator[Line]:
    if forecast.unknown:
        yield Line("")
        yield Line("unknown:", style=_UNKNOWN)
    for sentence in forecast.unknown:
        yield Line(sentence, STEP, hang=STEP)
