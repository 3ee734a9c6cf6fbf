"""The wording of a watch: one line per change, and the state and cost of recorder, receivers and reading."""

from collections.abc import Iterator
from datetime import UTC, datetime

from kfix.core.diagnosis.finding import Severity
from kfix.core.wording import ago, several, size_text
from kfix.diagnose.report.screen import step_line, triage_of
from kfix.diagnose.report.table import STYLES, sentence
from kfix.diagnose.report.verdict import counts_text
from kfix.front.lines import Line
from kfix.watch.model import Turn, TurnKind, WatchState

#: The width of a time at the beginning of a line, with the space after it.
TIME = 10
_GOOD = "bold green"


def clock_text(at: float) -> str:
    """Returns `07:05:09Z`."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%SZ")


def turn_line(turn: Turn) -> Line:
    style = _GOOD if turn.kind.over else STYLES[turn.severity]
    return Line(f"{clock_text(turn.at)} {turn_text(turn)}", style=style, hang=TIME)


def turn_text(turn: Turn) -> str:
    lasted = ago(turn.at - turn.since)
    if turn.kind is TurnKind.LOST:
        return f"lost the cluster: {turn.text}"
    if turn.kind is TurnKind.BACK:
        return f"the cluster answers again, after {lasted}"
    assert turn.finding is not None
    named = f"{turn.finding.code} {turn.finding.obj}"
    match turn.kind:
        case TurnKind.NEW:
            return f"new {turn.severity.word} {named}: {sentence(turn.finding.summary)}"
        case TurnKind.WORSE | TurnKind.BETTER:
            return f"{turn.kind.value} {named}, now {turn.severity.word}: {sentence(turn.finding.summary)}"
        case TurnKind.EXPLAINED:
            return f"explained {named}: it is now part of {turn.text}"
        case _:
            return f"fixed {named}, after {lasted}"


def turn_lines(turn: Turn, state: WatchState) -> Iterator[Line]:
    """Yields the change and, if it needs action, the first lines of its diagnosis."""
    yield turn_line(turn)
    if turn.kind.over or turn.kind is TurnKind.EXPLAINED or turn.finding is None or state.diagnosis is None:
        return
    triage = triage_of(turn.finding, state.diagnosis)
    yield from (Line(f"blocked: {each}", TIME, "bold", hang=2) for each in triage.blocked)
    if triage.next is not None:
        yield step_line(triage.next, indent=TIME)


def verdict_line(state: WatchState) -> Line:
    """Returns the current state: healthy, the number of findings of each severity, or unknown."""
    if state.diagnosis is None:
        if state.watched.lost is None and state.failures:
            return Line(f"{state.name}: unknown, {state.error}", style=STYLES[Severity.WARNING])
        lasted = 0.0 if state.watched.lost is None else state.at - state.watched.lost
        since = f" for {ago(lasted)}" if lasted >= 1 else ""
        return Line(f"{state.name}: unknown, the cluster has not answered{since}", style=STYLES[Severity.CRITICAL])
    unread = len(state.diagnosis.could_not_read)
    what = counts_text(state.diagnosis) or ("healthy" if not unread else "nothing found")
    if unread:
        what = f"{what}, {several(unread, 'source')} not read"
    if not state.confirmed:
        what = f"{what}, to be confirmed by a second snapshot"
    worst = state.diagnosis.worst
    style = STYLES[worst] if worst else _GOOD if what == "healthy" else ""
    return Line(f"{state.name}: {what}", style=style, hang=TIME)


def trouble_texts(state: WatchState) -> Iterator[str]:
    """Yields what the watch itself cannot do at present; the wording does not change while that lasts."""
    if state.recorder is not None and state.recorder.paused:
        yield f"recording is paused: {state.recorder.paused}"
    for receiver in state.receivers:
        if receiver.error:
            yield f"notifications to {receiver.name} are not delivered: {receiver.error}"


def footer_lines(state: WatchState) -> Iterator[Line]:
    """Yields the state and cost of the watch itself: recorder, notifications, exporter, load."""
    if state.recorder is not None:
        ring = state.recorder
        held = f"{ring.hours:.1f} of {ring.most_hours:g} h, {size_text(ring.size)} of {size_text(ring.most_size)}"
        yield Line(f"recorder {ring.folder}: {held}", style="dim", hang=2)
    for receiver in state.receivers:
        text = f"notifications to {receiver.name}: {receiver.delivered} delivered"
        text += f", {receiver.waiting} waiting" if receiver.waiting else ""
        text += f", {receiver.failed} given up" if receiver.failed else ""
        yield Line(text, style="dim", hang=2)
    if state.exporter:
        yield Line(f"metrics: {state.exporter}", style="dim")
    yield from (Line(text, style=STYLES[Severity.WARNING], hang=2) for text in trouble_texts(state))
    yield Line(cost_text(state), style="dim", hang=2)


def cost_text(state: WatchState) -> str:
    """Returns the cost of the watch: this process, and each server of the cluster on average per snapshot."""
    taken = max(state.snapshots, 1)
    requests = max((cost.requests for cost in state.costs), default=0) / taken
    received = max((cost.received for cost in state.costs), default=0) / taken
    share = 100 * state.cpu / max(state.at - state.began, state.every)
    own = f"cost: {share:.1f} % of a core, {size_text(state.memory)} of memory"
    if not state.costs:
        return own
    servers = several(len(state.costs), "server")
    return f"{own}; at most {requests:.0f} requests and {size_text(received)} a snapshot from each of {servers}"
