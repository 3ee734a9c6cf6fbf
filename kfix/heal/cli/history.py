"""`kfix runbook history`: the runs on this host, read from the journals."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from kfix.core.errors import RefusedError
from kfix.front import completion
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_json
from kfix.heal.report.history import print_records, print_runs
from kfix.heal.session.runs import all_runs, one_run, runs_folder
from kfix.heal.session.site import Site


def history(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="Show one run, event by event (default: list all).", autocompletion=completion.runs
        ),
    ] = None,
    json_output: AsJson = False,
) -> None:
    """List the runs on this host: who ran what, and how it ended. Read from the journals."""
    site = Site(the_app(ctx).environ)
    if run is not None:
        _one(site, run, json_output)
        return
    found = all_runs(site)
    if json_output:
        for one in found:
            say_json(asdict(one), ascii_only=False)
    elif found:
        print_runs(found, console_on(sys.stdout))
    else:
        say(f"no runs yet under {runs_folder(site)}")


def _one(site: Site, text: str, json_output: bool) -> None:
    directory, journal, about = one_run(site, text)
    if json_output:
        for record in journal.records:
            say_json(record, ascii_only=False)
    else:
        print_records(journal.records, console_on(sys.stdout))
    for note in about.notes:
        say(f"kfix: {note}", err=True)
    if journal.broken:
        raise RefusedError(f"{directory.id}: the journal cannot be trusted after that line")
