"""`kfix runbook list`, `show`, `doc`, `validate`, `schema`, `test`: the commands that need no cluster."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from kfix import __version__
from kfix.core.errors import NotProvedError, UsageError
from kfix.core.harmless import lines
from kfix.core.wording import several, utc_iso
from kfix.front.console import console_on
from kfix.front.lines import print_lines
from kfix.front.markdown import markdown_lines
from kfix.front.options import AsJson, RunbookFolder, RunbookName
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_document, say_json
from kfix.heal.cli.screen import Out
from kfix.heal.model.plan import Plan
from kfix.heal.model.runbook import Runbook
from kfix.heal.plan import planfile
from kfix.heal.report.page import page
from kfix.heal.report.plan import first_sentence, print_notes, print_runbooks
from kfix.heal.session.runbooks import runbook_schema, shipped, tested, validated
from kfix.heal.session.site import Site


def list_(ctx: typer.Context, runbooks: RunbookFolder = None, json_output: AsJson = False) -> None:
    """List the runbooks and the findings they are for."""
    found = _site(ctx).load_all(runbooks)
    if json_output:
        for r in found:
            say_json(_summary(r))
        return
    own = {r.id for r in found if not shipped(r)}
    print_runbooks(found, console_on(sys.stdout), own)


def _summary(r: Runbook) -> dict[str, object]:
    about = first_sentence(r.about)
    row = {"id": r.id, "version": r.metadata.version, "fixes": list(r.codes), "request": r.request}
    return {**row, "about": about, "from": r.origin}


def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME|PLAN", help="A runbook's name, or a plan file.")],
    runbooks: RunbookFolder = None,
    json_output: AsJson = False,
) -> None:
    """Show a runbook as a page, or a stored plan.

    The plan may be expired, already run, or made for another cluster.
    """
    site = _site(ctx)
    if _is_plan(name, site):
        _show_plan(planfile.read(Path(name)), site, json_output)
        return
    runbook = site.load_or_file(name, runbooks)
    if json_output:
        say_json(_summary(runbook))
    elif sys.stdout.isatty():
        print_lines(markdown_lines(page(runbook)), console_on(sys.stdout))
    else:
        say_document(page(runbook))


def _site(ctx: typer.Context) -> Site:
    return Site(the_app(ctx).environ)


def _is_plan(text: str, site: Site) -> bool:
    """Returns whether the text is a plan file. A runbook's name has no dot or slash; in doubt it is a runbook."""
    if text.endswith((".yaml", ".yml")):
        return False
    path = Path(text)
    looks_like_a_file = text.endswith(".json") or path.name != text
    return looks_like_a_file or (path.is_file() and text not in site.files())


def _show_plan(plan: Plan, site: Site, json_output: bool) -> None:
    out = Out.of(json_output)
    out.show(plan)
    made = f"made by {plan.created.by} on {plan.created.host}"
    print_notes((made, *_notes(plan, site)), out.people)
    if json_output:
        say_document(planfile.to_json(plan))


def _notes(plan: Plan, site: Site) -> Iterator[str]:
    """Yields why a stored plan would be refused, as far as that is known without reading its cluster."""
    yield f"this plan is for cluster {plan.cluster.name}; the cluster was not read"
    now = time.time()
    if now > plan.expires_at:
        yield f"it expired at {utc_iso(plan.expires_at)} (now {utc_iso(now)})"
    if plan.created.kfix != __version__:
        yield f"it was made by kfix {plan.created.kfix}; this is kfix {__version__}, which will refuse it"
    spent = site.store().spent_by(plan.plan_id)
    if spent is not None:
        yield f"it was already run as {spent.id} (kfix runbook history {spent.id})"
    if plan.undoes:
        yield f"it rolls back run {plan.undoes}"


def doc(
    ctx: typer.Context,
    name: RunbookName,
    runbooks: RunbookFolder = None,
    output: Annotated[
        Path | None, typer.Option("--output-file", metavar="FILE", help="Write the page to a new file.")
    ] = None,
) -> None:
    """Write a runbook's page in Markdown, with manual commands for when kfix is not available."""
    text = page(_site(ctx).load_or_file(name, runbooks))
    if output is None:
        say_document(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{output} exists and is not overwritten", hint="name another file with --output-file"
        ) from error
    except OSError as error:
        raise UsageError(f"{output}: cannot write the page: {error.strerror}") from error
    say(f"written to {output}", err=True)


def validate(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Runbook files (default: all runbooks).")
    ] = None,
    runbooks: RunbookFolder = None,
) -> None:
    """Validate runbook files: report all mistakes at once, each with file, line and column."""
    good = validated(_site(ctx), files or (), runbooks)
    say(f"{several(len(good), 'runbook')}, no mistakes: {', '.join(r.id for r in good)}")


def schema() -> None:
    """Print the JSON Schema of runbook files, for editors: kfix runbook schema > runbook.schema.json."""
    say_json(runbook_schema(), indent=2)


def try_(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Runbooks, by name or file (default: all).")
    ] = None,
    runbooks: RunbookFolder = None,
    json_output: AsJson = False,
) -> None:
    """Run the tests of runbooks on in-memory clusters; exit code 5 if one fails."""
    failed = total = 0
    for one in tested(_site(ctx), names or (), runbooks):
        total += 1
        failed += bool(one.problems)
        if json_output:
            row = {"runbook": one.runbook, "test": one.test, "ok": not one.problems}
            say_json({**row, "problems": one.problems}, ascii_only=False)
        else:
            head = f"{'FAIL' if one.problems else 'ok':<5} {one.runbook}: {one.test}"
            say(lines(head, *(f"        {problem}" for problem in one.problems)))
    if failed:
        raise NotProvedError(f"{failed} of {several(total, 'test')} failed")
    say(f"{several(total, 'test')} passed", err=json_output)
