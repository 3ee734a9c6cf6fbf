"""`kfix fleet prune` and `kfix fleet demo`: a store kept small, and one to try."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from kfix.cli.fleet import StorePlace, the_store
from kfix.cli.options import AsJson
from kfix.report.terminal import say, say_json


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
    """Show what of a store is older than --keep; with --delete take it away. The newest run and audit always stay."""
    from datetime import UTC, datetime

    from kfix.app.fleet import with_fleet

    place = the_store(store)
    with with_fleet():
        from kfix.adapters.fleet.places import place_of
        from kfix.app.audit import locked
        from kfix.fleet.pruning import days_of, old_ones, take_away
    looks = days_of(keep)
    judged = days_of(keep_audits, "--keep-audits") if keep_audits is not None else looks
    with locked(place) if delete else contextlib.nullcontext():
        found = old_ones(place_of(place), datetime.now(UTC).date(), looks, judged)
        for old in found if delete else ():
            take_away(old)
    if json_output:
        shown = [
            {"kind": o.kind, "date": o.day.isoformat(), "run": o.run, "complete": o.complete, "bytes": o.size}
            for o in found
        ]
        say_json({"deleted": delete, "old": shown}, indent=1)
    else:
        from kfix.report.console import console_on
        from kfix.report.fleet.pruned import print_old

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
    """Make synthetic clusters with nights of history, audit each night, and show the last: no Kafka needed."""
    from datetime import UTC, datetime

    from kfix.app.fleet import engine, with_fleet
    from kfix.cli.audit_outputs import Outputs

    place = the_store(store)
    outputs = Outputs(html, None, None, None, None, json=False, only_new=False, limit=10, fail_on="never")
    outputs.check()
    with with_fleet():
        from kfix.adapters.fleet.places import place_of
        from kfix.app.audit import audit, locked, report
        from kfix.fleet.demo import DemoFleet, empty_store, write_night
    from kfix.report.collecting import progress
    from kfix.report.console import console_on

    fleet = DemoFleet(datetime.now(UTC).date(), clusters, partitions, nights, sick, racks, seed)
    root = place_of(place)
    with locked(place), engine(processes=processes) as used:
        empty_store(root)
        with progress(nights, console_on(sys.stderr), quiet=False, what="nights") as hear:
            for night in fleet.nights():
                run = write_night(root, fleet, night, processes)
                made = audit(root, run, fleet.inventory, used)
                hear(night.day.isoformat(), "")
        outputs.tell(report(root, made, used))
    say(f"the store is {place}: kfix audit show --store {place}; kfix audit query ... --store {place}", err=True)
