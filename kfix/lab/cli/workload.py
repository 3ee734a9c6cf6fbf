"""`kfix lab workload`: a producer and a consumer with counts, on this machine or inside a zone."""

from typing import Annotated

import typer

from kfix.front.options import duration
from kfix.front.terminal import say
from kfix.lab.cli.console import Json, Name, open_lab, print_json, print_recount, show_counts, watch
from kfix.lab.workload.background import read_counts, start_in_background
from kfix.lab.workload.workload import Workload, WorkloadPlan, target


def workload(
    topic: Annotated[
        str, typer.Option("--topic", help="The topic; created with 3 partitions if it is missing.")
    ] = "workload",
    group: Annotated[str | None, typer.Option("--group", help="The consumer's group.")] = None,
    offsets_partition: Annotated[
        int | None,
        typer.Option("--offsets-partition", metavar="N", help="Use a group that hashes to __consumer_offsets-N."),
    ] = None,
    acks: Annotated[str, typer.Option("--acks", metavar="0|1|all", help="The producer's acks.")] = "all",
    retries: Annotated[int, typer.Option("--retries", metavar="N", help="The producer's retries.")] = 5,
    rate: Annotated[float, typer.Option("--rate", metavar="R", help="Messages per second.")] = 50.0,
    seconds: Annotated[float, typer.Option("--seconds", parser=duration, metavar="TIME", help="Duration.")] = 30.0,
    produce_only: Annotated[bool, typer.Option("--produce-only", help="No consumer.")] = False,
    consume_only: Annotated[bool, typer.Option("--consume-only", help="No producer.")] = False,
    background: Annotated[
        bool,
        typer.Option("--background", help="Run as a separate process, which `down` ends; --counts shows its progress."),
    ] = False,
    counts: Annotated[
        int | None,
        typer.Option("--counts", metavar="N", help="Start nothing; print the counts of background workload N."),
    ] = None,
    recount: Annotated[
        int | None,
        typer.Option(
            "--recount",
            metavar="N",
            help="Start nothing; print the true loss of background workload N from the log.",
        ),
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", metavar="ZONE", help="Run it inside a zone, in the background.")
    ] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Produce and consume, and count what was sent, acknowledged, received, lost and duplicated."""
    lab = open_lab(name)
    if counts is not None:
        print_json(read_counts(lab, counts))
        return
    if recount is not None:
        print_recount(lab, recount)
        return

    aim = target(lab, topic, group, offsets_partition)
    # Without --group, the consumer has a group of its own.
    reader = aim.group or (None if produce_only else f"{aim.topic}-readers")
    plan = WorkloadPlan(
        lab.bootstrap_servers,
        aim.topic,
        reader,
        acks,
        retries,
        rate,
        seconds,
        produce=not consume_only,
        consume=not produce_only,
    )
    if background or zone is not None:
        number = start_in_background(lab, plan, zone)
        say(f"workload {number} runs for {seconds:.0f} s: kfix lab workload --name {lab.name} --counts {number}")
        return
    show_counts(watch(Workload(plan), as_json), plan.group, as_json)
