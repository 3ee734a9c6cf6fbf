"""`kfix canary`: writes to a topic of its own and joins groups of its own, and removes them."""

import shlex
import signal
import sys
from typing import Annotated, Any

import typer

from kfix.canary.canary import run
from kfix.canary.model import NAME, CanaryOptions
from kfix.canary.report import canary_json, canary_lines
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import CANNOT_TELL
from kfix.core.errors import UsageError
from kfix.front import completion
from kfix.front.grouped import with_options
from kfix.front.lines import print_lines
from kfix.front.options import ALL, AsJson, duration, offsets_partition
from kfix.front.plain import PlainConsole
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say_document

_MOST_ROUNDS, _MOST_SECONDS = 100_000, 300.0


@with_options
def canary(
    ctx: typer.Context,
    reach: ClusterOptions,
    broker: Annotated[
        list[int] | None,
        typer.Option("--broker", metavar="ID", help="Only leaders and coordinators on this broker (repeatable)."),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="P",
            help=f"The coordinator of this partition of {OFFSETS_TOPIC} (repeatable), or all.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="The coordinator of this group (repeatable); the group itself is not touched.",
            autocompletion=completion.groups,
        ),
    ] = None,
    topic: Annotated[str, typer.Option("--topic", metavar="NAME", help="The topic for the records.")] = NAME,
    create_topic: Annotated[
        bool,
        typer.Option("--create-topic", help="Create the topic if it does not exist, and delete it at the end."),
    ] = False,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", help="Number of rounds.")] = 1,
    every: Annotated[
        float, typer.Option("--every", parser=duration, metavar="TIME", help="Time from one round to the next.")
    ] = 1.0,
    within: Annotated[
        float, typer.Option("--within", parser=duration, metavar="TIME", help="Limit for one record, and for one join.")
    ] = 15.0,
    json_output: AsJson = False,
) -> None:
    """Prove by a client that a cluster works: produce and consume through leaders, and join groups of coordinators.

    One record for each leader and one group for each coordinator, both its own: groups and offsets are deleted, and the
    topic if this run made it. Exit code: 0 all worked, 20 some tries failed or something is left, 21 a leader or
    coordinator does not work, 22 not everything could be tried.
    """
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise UsageError(f"--rounds must be 1 to {_MOST_ROUNDS}")
    if not 1 <= within <= _MOST_SECONDS or not 0 <= every <= 3600:
        raise UsageError(f"--within must be 1 to {_MOST_SECONDS:.0f} seconds, and --every 0 to 3600")
    partitions = partition or []
    options = CanaryOptions(
        tuple(broker or ()),
        tuple(offsets_partition(text) for text in partitions if text != ALL),
        every_partition=ALL in partitions,
        groups=tuple(group or ()),
        topic=topic,
        creates=create_topic,
        within=within,
    )
    access = reach.access()
    # Everything is removed for a service manager, too.
    signal.signal(signal.SIGTERM, _end)
    result = run(the_app(ctx), access.target(), options, rounds, every)
    if json_output:
        say_document(canary_json(result))
    else:
        diagnose = shlex.join(["kfix", "diagnose", *access.options()])
        print_lines(canary_lines(result, diagnose), PlainConsole(sys.stdout))
    raise typer.Exit(result.exit_code)


def _end(*_: Any) -> None:
    raise SystemExit(CANNOT_TELL)
