"""The table of a plan that commits offsets: group, topic, partition, and the offset before and after."""

from __future__ import annotations

from rich.console import Console

from kfix.front.console import table
from kfix.heal.model.plan import Plan
from kfix.heal.probes.positions import offsets_of, shown_offset

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
