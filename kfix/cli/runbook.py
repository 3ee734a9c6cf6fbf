"""`kfix runbook`: reviewed remedies. Here the commands that need no cluster; `runbook_plan` and `runbook_runs` have the
others.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli import runbook_flow as flow
from kfix.cli import runbook_plan, runbook_runs
from kfix.cli import runbook_site as site
from kfix.cli.options import AsJson, RunbookFolder, RunbookName
from kfix.errors import NotProvedError, UsageError
from kfix.harmless import lines
from kfix.report.terminal import say, say_document, say_json

if TYPE_CHECKING:
    from kfix.model.plan import Plan
    from kfix.model.runbook import Runbook

app = typer.Typer(no_args_is_help=True, help="Reviewed remedies: planned, shown, approved, carried out and proved.")


@app.command("list")
def list_(runbooks: RunbookFolder = None, json_output: AsJson = False) -> None:
    """List the runbooks and the findings they are for."""
    from kfix.report import runbook as report
    from kfix.report.console import console_on
    from kfix.runbook import catalogue

    found = catalogue.load_all(runbooks, site.own_runbooks())
    if json_output:
        for r in found:
            say_json(_summary(r))
        return
    shipped = catalogue.shipped_dir()
    own = {r.id for r in found if Path(r.origin).parent != shipped}
    report.print_runbooks(found, console_on(sys.stdout), own)


def _summary(r: Runbook) -> dict[str, object]:
    from kfix.report.runbook import first_sentence

    about = first_sentence(r.about)
    told = {"id": r.id, "version": r.version, "fixes": list(r.codes), "request": r.request}
    return {**told, "about": about, "from": r.origin}


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME|PLAN", help="A runbook's name, or the file of a plan.")],
    runbooks: RunbookFolder = None,
    json_output: AsJson = False,
) -> None:
    """Show a runbook as a page, or a plan as it was made: also one that is expired, spent, or of another cluster."""
    if _is_plan(name):
        from kfix.runbook import planfile

        _show_plan(planfile.read(Path(name)), json_output)
        return
    runbook = site.load_or_file(name, runbooks)
    if json_output:
        say_json(_summary(runbook))
    else:
        say_document(_page(runbook))


def _is_plan(text: str) -> bool:
    """A runbook's name has neither dot nor slash; where both are possible the runbook is meant."""
    from kfix.runbook import catalogue

    if text.endswith((".yaml", ".yml")):
        return False
    path = Path(text)
    looks_like_a_file = text.endswith(".json") or path.name != text
    return looks_like_a_file or (path.is_file() and text not in catalogue.files(None, site.own_runbooks()))


def _show_plan(plan: Plan, json_output: bool) -> None:
    from kfix.report.plan_notes import print_notes
    from kfix.runbook import planfile

    out = flow.Out.of(json_output)
    flow.show(plan, out.people)
    made = f"made by {plan.created.by} on {plan.created.host}"
    print_notes((made, *flow.notes(plan)), out.people)
    if json_output:
        say_document(planfile.to_json(plan))


@app.command()
def doc(
    name: RunbookName,
    runbooks: RunbookFolder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the page there, never over a file.")
    ] = None,
) -> None:
    """A runbook's page in Markdown, with the way by hand: for the day on which kfix is not at hand."""
    text = _page(site.load_or_file(name, runbooks))
    if output is None:
        say_document(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{output} exists and is not overwritten", hint="name another file with -o") from error
    except OSError as error:
        raise UsageError(f"{output}: the page cannot be written: {error.strerror}") from error
    say(f"written to {output}", err=True)


def _page(runbook: Runbook) -> str:
    from kfix.actions.registry import ALL, described, example
    from kfix.model.args import ArgValue, Kind, coerce
    from kfix.report.runbook_page import ActionWords, page

    words = {key: ActionWords(*described(action)) for key, action in ALL.items()}
    by_hand: dict[str, str] = {}
    for step in runbook.steps:
        action, known = ALL[step.action], dict[str, ArgValue]()
        for name, value in step.with_.items():
            # A reference is not known before there is a finding; within what a person is told it says enough.
            told = not action.changes and action.kinds[name] is Kind.TEXT
            if told or "${" not in str(value):
                known[name] = coerce(action.kinds[name], value)
        by_hand[step.id] = action.preview(example(action).with_(**known)).command
    return page(runbook, words, by_hand)


@app.command()
def validate(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files; none means all.")] = None,
    runbooks: RunbookFolder = None,
) -> None:
    """Check runbook files: all mistakes at once, each with its file, line and column."""
    from kfix.runbook import catalogue

    if files and runbooks is not None:
        raise UsageError("give files or --runbooks, not both")
    known = tuple(files or catalogue.files(runbooks, site.own_runbooks()).values())
    good = catalogue.validate(known, codes=site.codes())
    say(f"{len(good)} runbook{'' if len(good) == 1 else 's'}, no mistakes: {', '.join(r.id for r in good)}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of runbook files, for editors: kfix runbook schema > runbook.schema.json."""
    from kfix.runbook.published import json_schema

    say_json(json_schema(site.codes()), indent=2)


@app.command("test")
def try_(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Runbooks, by name or file; none means all.")
    ] = None,
    runbooks: RunbookFolder = None,
    json_output: AsJson = False,
) -> None:
    """Run the tests that stand in runbooks, on clusters in memory; exit code 5 where one fails."""
    import tempfile

    from kfix.app.cluster import runbook_fixtures
    from kfix.runbook import catalogue
    from kfix.runbook.testing import run_tests

    own = site.own_runbooks()
    found = [site.load_or_file(n, runbooks) for n in names] if names else catalogue.load_all(runbooks, own)
    failed = total = 0
    with tempfile.TemporaryDirectory(prefix="kfix-test-") as home:
        for runbook in found:
            for tested in run_tests(runbook, runbook_fixtures(), Path(home)):
                total += 1
                failed += bool(tested.problems)
                if json_output:
                    told = {"runbook": tested.runbook, "test": tested.test, "ok": not tested.problems}
                    say_json({**told, "problems": tested.problems}, ascii_only=False)
                else:
                    head = f"{'FAIL' if tested.problems else 'ok':<5} {tested.runbook}: {tested.test}"
                    say(lines(head, *(f"        {problem}" for problem in tested.problems)))
    if failed:
        raise NotProvedError(f"{failed} of {total} tests failed")
    say(f"{total} tests passed", err=json_output)


app.command("plan")(runbook_plan.plan)
app.command("apply")(runbook_plan.apply)
app.command("countersign")(runbook_plan.countersign)
app.command("resume")(runbook_runs.resume)
app.command("abort")(runbook_runs.abort)
app.command("rollback")(runbook_runs.rollback)
app.command("throttle")(runbook_runs.throttle)
app.command("verify")(runbook_runs.verify)
app.command("history")(runbook_runs.history)
