"""Turns the journal of a run into events and into one row for the run.

Single samples and lock records are left out: a post-mortem needs decisions, changes sent, and results.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kfix.core.clock_steps import clock_notes, clock_steps, times
from kfix.core.events import Event, Theme, Tone
from kfix.heal.model.plan import Plan
from kfix.incident.model import RunRow

Record = Mapping[str, Any]
_Sentence = Callable[[Record], tuple[Tone, str] | None]


def _who(record: Record) -> str:
    who = record.get("who") or {}
    return f"{who.get('user', '?')}@{who.get('host', '?')}"


def _ended(record: Record) -> tuple[Tone, str]:
    good = record.get("exit") == 0
    seconds = record.get("seconds_to_proof")
    took = f", {seconds:.1f} s from approval to verification" if isinstance(seconds, int | float) else ""
    left = record.get("left") or []
    more = f"; still in place: {'; '.join(map(str, left))}" if left else ""
    return (
        Tone.GOOD if good else Tone.BAD,
        f"run ended: {record.get('outcome')} (exit {record.get('exit')}){took}{_why(record)}{more}",
    )


def _why(record: Record) -> str:
    """Returns the first line of the reason why a run was stopped."""
    why = str(record.get("why") or "").partition("\n")[0]
    return f": {why}" if why and why != record.get("outcome") else ""


def _result(record: Record) -> tuple[Tone, str]:
    what = {True: "accepted", False: "rejected", None: "response lost"}[record.get("changed")]
    error = f": {record['error']}" if record.get("error") else ""
    return Tone.ACT if record.get("changed") else Tone.BAD, f"{record.get('step')}: {what}{error}"


def _args(record: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in (record.get("args") or {}).items())


#: The sentence of each record type; other types do not appear in a post-mortem.
_SENTENCES: Mapping[str, _Sentence] = {
    "run.start": lambda r: (Tone.ACT, f"run of {r.get('runbook')} started for {r.get('finding')}, by {_who(r)}"),
    "run.resumed": lambda r: (Tone.ACT, f"run resumed by {_who(r)}"),
    "run.end": _ended,
    "lock.lost": lambda r: (Tone.BAD, f"lost the lock on {r.get('scope')}"),
    "gate.asked": lambda r: (Tone.PLAIN, f"{r.get('step')}: asked for approval (level {r.get('level')})"),
    "gate.answered": lambda r: (
        Tone.ACT if r.get("passed") else Tone.BAD,
        f"{r.get('step')}: {'approved' if r.get('passed') else 'declined'} by {_who(r)}: {r.get('answer')}",
    ),
    "facts.recheck": lambda r: (Tone.BAD, f"a fact changed: {r.get('key')}: {r.get('was')} \u2192 {r.get('is_')}"),
    "step.intent": lambda r: (Tone.ACT, f"{r.get('step')}: sends {r.get('action')} ({_args(r)})"),
    "step.result": _result,
    "step.verified": lambda r: (Tone.GOOD, f"{r.get('step')}: effect verified"),
    "step.not_verified": lambda r: (Tone.BAD, f"{r.get('step')}: not verified ({r.get('verdict')}): {r.get('text')}"),
    "step.skipped": lambda r: (Tone.PLAIN, f"{r.get('step')}: skipped ({str(r.get('why')).replace('_', ' ')})"),
    "step.refused": lambda r: (Tone.BAD, f"{r.get('step')}: refused: {r.get('text')}"),
    "step.done_by_hand": lambda r: (Tone.ACT, f"{r.get('step')}: manual step confirmed: {r.get('text')}"),
    "step.waiting": lambda r: (Tone.PLAIN, f"{r.get('step')}: waiting"),
    "throttle.intent": lambda r: (Tone.ACT, f"{r.get('step')}: changes the throttle ({_args(r)})"),
    "limit.hit": lambda r: (Tone.BAD, f"limit exceeded: {r.get('limit')}"),
    "note": lambda r: (Tone.PLAIN, str(r.get("text"))),
}


def events(records: Iterable[Record], source: str) -> Iterator[Event]:
    """Yields events in the order of the records, even if the host's clock was set back during the run."""
    kept = tuple(records)
    steps = {step.seq: step.words for step in clock_steps(kept)}
    for number, (record, at) in enumerate(zip(kept, times(kept), strict=True)):
        if number in steps:
            yield Event(at, Theme.RUN, Tone.PLAIN, steps[number], source)
        sentence = _SENTENCES.get(str(record.get("type")))
        event = None if sentence is None else sentence(record)
        if event is not None:
            yield Event(at, Theme.RUN, event[0], event[1], source)


def run_row(records: tuple[Record, ...], run: str, notes: tuple[str, ...], plan: Plan | None = None) -> RunRow | None:
    """Returns the run in one row, or None if the journal has no start record."""
    timed = tuple(zip(records, times(records), strict=True))
    start, began = next(((r, at) for r, at in timed if r["type"] == "run.start"), (None, 0.0))
    if start is None:
        return None
    end, ended = next(((r, at) for r, at in reversed(timed) if r["type"] == "run.end"), (None, None))
    answers = [r for r in records if r["type"] == "gate.answered"]
    return RunRow(
        id=str(start.get("run") or run),
        runbook=str(start.get("runbook", "")),
        finding=str(start.get("finding", "")),
        title=str(start.get("title", "")),
        who=_who(start),
        began=began,
        ended=ended,
        outcome="unknown" if end is None else str(end.get("outcome", "")),
        exit=None if end is None else int(end.get("exit", -1)),
        approvals=tuple(
            f"{r.get('step')}: {'approved' if r.get('passed') else 'declined'} by {_who(r)} ({r.get('answer')})"
            for r in answers
        ),
        changed=tuple(map(str, (end or {}).get("changed", ()))) or tuple(f"{r.get('step')}" for r in _sent(records)),
        proof=_proof(records),
        notes=(*notes, *clock_notes(records)),
        stakes=() if plan is None else tuple(_stakes(records, plan)),
    )


def _stakes(records: Iterable[Record], plan: Plan) -> Iterator[tuple[str, bool]]:
    """Yields the possible loss that the plan states for each step that was sent, and whether it is a number."""
    sent = {r.get("step") for r in _sent(records)}
    for step in plan.steps:
        if step.id in sent and not step.estimate.max_loss.startswith("none"):
            most = step.args.get("lost_at_most")
            yield f"{step.id}: {step.estimate.max_loss}", isinstance(most, int) and most >= 0


def _sent(records: Iterable[Record]) -> Iterator[Record]:
    """Yields the results of steps that were sent; one whose response was lost counts as sent."""
    return (r for r in records if r["type"] == "step.result" and r.get("changed") is not False)


def _proof(records: Iterable[Record]) -> str:
    """Returns the last result of each final check."""
    last = {r.get("check"): r for r in records if r["type"] == "verify.sample" and r.get("part") == "proof"}
    return "; ".join(f"{r.get('observed')} ({r.get('verdict')})" for r in last.values())
