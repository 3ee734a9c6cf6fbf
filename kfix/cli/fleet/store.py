"""`kfix fleet runs`, `prune` and `demo`: what a store holds, a store kept small, and one to try."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from kfix.app.collect import stored_runs
from kfix.app.inventory import the_day
from kfix.app.store import DemoWish, make_demo, prune_store
from kfix.cli.fleet.audit_outputs import Outputs
from kfix.cli.fleet.inventory import OfDate, StorePlace, the_store
from kfix.cli.options import AsJson
from kfix.report.console import console_on
from kfix.report.fleet.pruned import print_old
from kfix.report.snapshots.collecting import progress
from kfix.report.snapshots.inventory import runs_json, show_runs
from kfix.report.terminal import say, say_json


def runs(store: StorePlace = None, day: OfDate = None, json_output: AsJson = False) -> None:
    """List the runs of a store, oldest first, including unfinished ones."""
    place, of = the_store(store), the_day(day)
    found = stored_runs(place, of)
    if json_output:
        say_json(runs_json(found), indent=2)
    elif not found:
        say(f"{place}: holds no run")
    else:
        show_runs(found, console_on(sys.stdout))


def prune(
    store: StorePlace = None,
    keep: Annotated[
        str, typer.Option("--keep", metavar="DAYS", help="Looks of so many days stay, such as 90d.")
    ] = "90d",
    keep_audits: Annotated[
        str | None, typer.Option("--keep-audits", metavar="DAYS", help="Findings and scores; else as long as looks.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take away what is shown; without it nothing is.")] = False,
    json_output: AsJson = False,
) -> None:
    """List what is older than --keep in a store; with --delete, delete it. The newest run and audit are always kept."""
    place = the_store(store)
    found = prune_store(place, datetime.now(UTC).date(), keep, keep_audits, delete=delete)
    if json_output:
        shown = [
            {"kind": o.kind, "date": o.day.isoformat(), "run": o.run, "complete": o.complete, "bytes": o.size}
            for o in found
        ]
        say_json({"deleted": delete, "old": shown}, indent=1)
    else:
        print_old(found, place, console_on(sys.stdout), deleted=delete)


def demo(
    store: StorePlace = None,
    clusters: Annotated[int, typer.Option("--clusters", metavar="N", help="How many.")] = 30,
    partitions: Annotated[
        int, typer.Option("--partitions", metavar="N", help="Of a cluster of the usual size.")
    ] = 2000,
    nights: Annotated[int, typer.Option("--days", metavar="N", help="Nights of history, the last one today's.")] = 14,
    sick: Annotated[
        float, typer.Option("--sick", metavar="SHARE", help="Of the partitions; 0.001 is one in 1000.")
    ] = 0.001,
    racks: Annotated[int, typer.Option("--racks", metavar="N", help="Of most clusters; some have none.")] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another one gives another fleet.")] = 0,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="The report of the last night.")] = None,
    processes: Annotated[int | None, typer.Option("--processes", metavar="N", min=1, help="Else one a core.")] = None,
) -> None:
    """Make synthetic clusters with a history of audit runs, and show the latest audit. It needs no Kafka."""
    place = the_store(store)
    outputs = Outputs(html, None, None, None, None, json=False, only_new=False, limit=10, fail_on="never")
    outputs.check()
    wish = DemoWish(datetime.now(UTC).date(), clusters, partitions, nights, sick, racks, seed)

    outputs.tell(
        make_demo(
            place, wish, processes, lambda total: progress(total, console_on(sys.stderr), quiet=False, what="nights")
        )
    )
    say(f"the store is {place}: kfix audit show --store {place}; kfix audit query ... --store {place}", err=True)
