"""`kfix fleet runs`, `compact`, `prune` and `demo`: the runs of a store, its files, and a demo fleet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Annotated

import typer

from kfix.core.wording import several
from kfix.fleet.audit.reading import DAYS
from kfix.fleet.audits import with_answers
from kfix.fleet.cli.audit_outputs import Outputs
from kfix.fleet.cli.inventory import OfDate, StorePlace, the_store
from kfix.fleet.demo.fleet import DemoFleet, make_demo
from kfix.fleet.inventory import the_day
from kfix.fleet.report.collecting import progress
from kfix.fleet.report.inventory import runs_json, show_runs
from kfix.fleet.report.pruned import print_old
from kfix.fleet.upkeep import compact_store, prune_store, stored_runs
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say, say_json


def runs(store: StorePlace = None, day: OfDate = None, json_output: AsJson = False) -> None:
    """List the runs of a store, oldest first, including unfinished ones."""
    place, of = the_store(store), the_day(day)
    found = stored_runs(place, of)
    if json_output:
        say_json(runs_json(found), indent=2)
    elif not found:
        say(f"{place}: no runs")
    else:
        show_runs(found, console_on(sys.stdout))


def prune(
    store: StorePlace = None,
    keep: Annotated[
        str, typer.Option("--keep", metavar="DAYS", help="Keep snapshots for this many days, such as 90d.")
    ] = "90d",
    keep_audits: Annotated[
        str | None,
        typer.Option("--keep-audits", metavar="DAYS", help="Keep findings and scores for this many days."),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete what is listed; default: only list.")] = False,
    json_output: AsJson = False,
) -> None:
    """List the runs and audits older than --keep; with --delete, delete them. The newest run and audit always stay."""
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


def compact(store: StorePlace = None, json_output: AsJson = False) -> None:
    """Merge the small files of each run into few large ones; the rows stay the same."""
    place = the_store(store)
    found = list(compact_store(place))
    if json_output:
        shown = [{"date": c.day.isoformat(), "run": c.run, "before": c.before, "after": c.after} for c in found]
        say_json({"compacted": shown}, indent=1)
        return
    for each in found:
        say(f"{each.day} {each.run}: {several(each.before, 'file')} merged into {each.after}")
    if not found:
        say(f"{place}: nothing to merge")


def demo(
    store: StorePlace = None,
    clusters: Annotated[int, typer.Option("--clusters", metavar="N", help="Number of clusters.")] = 30,
    partitions: Annotated[
        int, typer.Option("--partitions", metavar="N", help="Partitions of an average cluster.")
    ] = 2000,
    days: Annotated[int, typer.Option("--days", metavar="N", help="Days of history, ending today.")] = 14,
    sick: Annotated[float, typer.Option("--sick", metavar="SHARE", help="Share of unhealthy partitions.")] = 0.001,
    racks: Annotated[int, typer.Option("--racks", metavar="N", help="Racks of most clusters.")] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same fleet.")] = 0,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the last report.")] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="Default: one per core.")
    ] = None,
) -> None:
    """Fill a store with synthetic clusters and days of history, audit each day, and show the last audit. No Kafka."""
    place = the_store(store)
    outputs = Outputs(html, limit=10, fail_on="never")
    outputs.check()
    wish = DemoFleet(datetime.now(UTC).date(), clusters, partitions, days, sick, racks, seed)

    def shown(total: int) -> AbstractContextManager[Callable[[str, str], None]]:
        return progress(total, console_on(sys.stderr), quiet=False, what="audited")

    report = make_demo(place, wish, processes, shown)
    outputs.write(report if html is None else with_answers(place, report, days=DAYS))
    say(f"the store is {place}: kfix audit show --store {place}; kfix audit query ... --store {place}", err=True)
