"""Prints a plan, and the list of runbooks. Colour appears only on a terminal; rich itself respects NO_COLOR."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from kfix.core.wording import several
from kfix.front.console import block, joined, styled, table
from kfix.heal.model.facts import fact_lines
from kfix.heal.model.plan import CheckCall, Gate, Phase, Plan, PlannedStep, skipped_lines
from kfix.heal.probes.groups import offsets_of, shown_offset

if TYPE_CHECKING:
    from kfix.heal.model.runbook import Runbook

_COMMIT = "offsets.commit"
_MOST_ROWS = 200


def print_offsets(plan: Plan, console: Console) -> None:
    """Prints the table, if the plan commits offsets; the plan file has the rows beyond the 200th."""
    rows = [
        (step.args.text("group"), tp.topic, str(tp.partition), shown_offset(before.get(tp)), shown_offset(after))
        for step in plan.steps
        if step.action == _COMMIT
        for before in (offsets_of(step.args, "offsets_before"),)
        for tp, after in sorted(offsets_of(step.args).items())
    ]
    if not rows:
        return
    made = table(header_style="bold", padding=(0, 2, 0, 0))
    for name in ("group", "topic"):
        made.add_column(name, overflow="fold")
    for name in ("partition", "from", "to"):
        made.add_column(name, justify="right")
    for row in rows[:_MOST_ROWS]:
        made.add_row(*row)
    console.print(made)
    if len(rows) > _MOST_ROWS:
        console.print(f"and {len(rows) - _MOST_ROWS} more offsets, in the plan file (--output-file FILE)")
    console.print()


def print_differences(rows: Iterable[tuple[str, str, str]], console: Console) -> None:
    """Prints (what, as it was, as it is) rows, or that there are none."""
    found = table(header_style="bold", padding=(0, 2, 0, 0))
    for name in ("differs", "was", "is"):
        found.add_column(name, overflow="fold")
    for row in rows:
        found.add_row(*row)
    if found.row_count:
        console.print(found)
    else:
        console.print(styled("no differences", "green"))


def print_notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(styled(f"note: {note}", "yellow"), soft_wrap=True)


_COLOURS = {
    Gate.AUTO: "dim",
    Gate.PLAN: "cyan",
    Gate.STEP: "yellow",
    Gate.TYPED: "bold red",
    Gate.TWO_PERSON: "bold red",
}
_PHASES = {Phase.ALWAYS: "always: ", Phase.AFTER_GOAL: "after the goal is proved: "}


def print_plan(plan: Plan, steps: Iterable[tuple[int, PlannedStep]], console: Console) -> None:
    head = joined(
        ("PLAN ", "bold"),
        (plan.short_id, "bold"),
        (f"   {plan.runbook.id} v{plan.runbook.version}   on {plan.cluster.name}", ""),
        (f" over {plan.cluster.security}" if plan.cluster.security.protocol not in {"", "PLAINTEXT"} else "", ""),
    )
    console.print(head)
    console.print(styled(plan.title, "bold"))
    _rows(console, [("finding", f"{plan.finding.key}  {plan.finding.summary}"), ("cause", plan.finding.cause)])
    console.print()
    console.print(_steps(steps))
    print_offsets(plan, console)
    rows = [("skipped", line) for line in skipped_lines(plan.skipped_at_plan)]
    rows += [("warning", w) for w in plan.warnings]
    rows += [("judged with", " ".join(again))] if (again := plan.judged.options()) else []
    rows += [("based on", line) for line in fact_lines(plan.facts)]
    goal = plan.goal
    rows.append(("proof", f"{several(goal.consecutive, 'successful check')} in a row within {goal.timeout:g} s of"))
    rows += [("", line) for line in _checks(goal.checks)]
    rows += [("invariant", f"{line}; otherwise the run {how}s") for how, line in _invariants(plan)]
    rows += [("follow-up", line) for line in _checks(plan.standing)]
    rows += [
        ("at worst", plan.impact.words(plan.widest_risk, " if every step is needed")),
        ("expires", _time(plan.expires_at)),
    ]
    _rows(console, rows)


def print_runbooks(runbooks: Iterable[Runbook], console: Console, own: Collection[str] = ()) -> None:
    """Prints the runbooks. `own` holds the ids of those not shipped with kfix; their folder is shown."""
    found = table(header_style="bold")
    for name in ("runbook", "fixes", "what it is for", *(("from",) if own else ())):
        found.add_column(name, overflow="fold")
    for runbook in runbooks:
        row = [runbook.id, ", ".join(fixes(runbook)), first_sentence(runbook.about)]
        found.add_row(*row, *((str(Path(runbook.origin).parent) if runbook.id in own else "kfix",) if own else ()))
    console.print(found)


def fixes(runbook: Runbook) -> list[str]:
    """Returns the finding codes, and what may be requested without a finding."""
    return [*runbook.codes, *([f"a request ({runbook.request})"] if runbook.request else [])]


def first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].rstrip(".") + "."


def _steps(steps: Iterable[tuple[int, PlannedStep]]) -> Table:
    made = table(header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("#", justify="right")
    made.add_column("step", overflow="fold")
    made.add_column("gate")
    made.add_column("what, why, undo", overflow="fold")
    last: tuple[object, ...] | None = None
    for number, step in steps:
        words = [styled(_PHASES.get(step.phase, "") + step.what)]
        # Steps of one loop show their reason once, and their undo again only if it is of another kind.
        undo = step.reversible, step.inverse is None, step.inverse is not None and step.inverse.keep
        loop = (step.id.partition(":")[0], step.why, *(undo if step.inverse else (step.undo,)))
        if last != loop:
            words += [styled(f"why:  {step.why}", "dim"), styled(f"undo: {step.undo}", "dim"), styled("")]
        last = loop
        made.add_row(str(number), step.id, styled(step.gate.word, _COLOURS[step.gate]), block(*words))
    return made


def _rows(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    """Prints labelled rows. A repeated label is shown once; a long line is folded under its own text."""
    made = table(show_header=False, padding=(0, 2, 0, 0))
    made.add_column("", no_wrap=True, style="bold")
    made.add_column("", overflow="fold")
    before = ""
    for label, text in rows:
        made.add_row("" if label == before else label, text)
        before = label or before
    console.print(made)


def _checks(checks: Iterable[CheckCall]) -> list[str]:
    """Groups checks, so that the same check of many partitions is shown once."""
    groups: dict[str, list[str]] = {}
    for call in checks:
        rest = ", ".join(f"{k}={v}" for k, v in call.args.items() if k != "partition")
        words = f"{call.args.get('partition', '')}{f' ({rest})' if rest else ''}"
        groups.setdefault(call.check, []).append(words.strip())
    return [f"{check}: {', '.join(words)}".removesuffix(": ") for check, words in groups.items()]


def _invariants(plan: Plan) -> list[tuple[str, str]]:
    kinds = dict.fromkeys(one.on_breach.value for one in plan.invariants)
    return [
        (how, line) for how in kinds for line in _checks(i.call for i in plan.invariants if i.on_breach.value == how)
    ]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
