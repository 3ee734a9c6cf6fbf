"""`kfix preflight`: is it safe to do this now? It only reads."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from kfix.core.access import Access
from kfix.core.clusters import DiagnoseOptions
from kfix.core.errors import UsageError
from kfix.core.timing import TIMING
from kfix.front.grouped import with_options
from kfix.front.lines import print_lines
from kfix.front.options import AsJson, Debounce, FromFiles, PlanFile, PolicyFile, RunbookFolder, duration
from kfix.front.pasting import ask_for_paste
from kfix.front.plain import PlainConsole
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_document
from kfix.heal.plan.planfile import read as read_plan
from kfix.heal.session.session import for_plan
from kfix.heal.session.site import Site
from kfix.preflight import acts
from kfix.preflight.model import Act, Preflight
from kfix.preflight.moving import reassign as moved
from kfix.preflight.planned import carry_out
from kfix.preflight.preflight import preflight_live, preflight_saved, wait_until_safe
from kfix.preflight.report import preflight_json, preflight_lines
from kfix.preflight.upgrading import upgrade as upgraded

_LONGEST = 86_400

Nodes = Annotated[
    str,
    typer.Argument(metavar="NODES", help="broker=3, broker=3,4, rack=b, or controller=2 on KRaft; several go at once."),
]
Node = Annotated[str, typer.Argument(metavar="NODE", help="broker=3, or controller=2 on KRaft.")]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        parser=duration,
        metavar="TIME",
        help="Wait as long as this until it is safe; ends at once if only an operator can make it so.",
    ),
]


def _judged(act_of: Callable[..., Act]) -> Callable[..., None]:
    """Returns the command that judges the act that `act_of` builds of its own arguments."""

    def command(
        ctx: typer.Context,
        reach: ClusterOptions,
        wait: Wait = 0.0,
        from_files: FromFiles = None,
        debounce: Debounce = TIMING.debounce,
        json_output: AsJson = False,
        **given: Any,
    ) -> None:
        act = act_of(**given)
        if not from_files:
            _show(_live(ctx, reach.access(), act, wait, debounce), json_output)
        if reach.is_given or wait:
            raise UsageError("--from reads a saved snapshot; leave out the address of a cluster, and --wait")
        ask_for_paste(from_files or ())
        _show(preflight_saved(act, from_files or (), lambda sentence: say(sentence, err=True)), json_output)

    own, shared = (list(inspect.signature(each, eval_str=True).parameters.values()) for each in (act_of, command))
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *shared[:-1])]
    update_wrapper(command, act_of).__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return with_options(command)


@_judged
def restart(
    nodes: Nodes,
) -> Act:
    """Judge a restart: what would stop while these nodes are down, and what has to happen first.

    Exit code: 0 safe, 23 unsafe, 22 unknown: a source was not read.
    """
    return acts.restart(nodes)


@_judged
def stop(
    nodes: Nodes,
) -> Act:
    """Judge stopping nodes or a rack for longer: what would stop, and what has to happen first.

    Exit code: 0 safe, 23 unsafe, 22 unknown: a source was not read.
    """
    return acts.stop(nodes)


@_judged
def remove(
    node: Node,
) -> Act:
    """Judge taking a broker out of the cluster, or a controller out of the quorum, for good.

    Exit code: 0 safe, 23 unsafe, 22 unknown: a source was not read.
    """
    return acts.remove(node)


@_judged
def reassign(
    moves: Annotated[Path, typer.Argument(metavar="FILE", help="Moves, in the JSON of kafka-reassign-partitions.")],
) -> Act:
    """Judge the moves of a file: which ones Kafka refuses, would not end, or leave too few replicas.

    Exit code: 0 safe, 23 unsafe, 22 unknown: a source was not read.
    """
    return moved(moves)


@_judged
def config(
    entity: Annotated[str, typer.Argument(metavar="topic", help="What the setting belongs to: topic.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The topic's name.")],
    setting: Annotated[str, typer.Argument(metavar="KEY=VALUE", help="Such as min.insync.replicas=2.")],
) -> Act:
    """Judge a setting of a topic: whether producers would stop, or records be lost, once it is in force.

    Exit code: 0 safe, 23 unsafe, 22 unknown: a source was not read, or kfix does not judge this setting.
    """
    return acts.config(entity, name, setting)


@with_options
def plan(
    ctx: typer.Context,
    file: PlanFile,
    reach: ClusterOptions,
    runbooks: RunbookFolder = None,
    policy: PolicyFile = None,
    wait: Wait = 0.0,
    debounce: Debounce = TIMING.debounce,
    json_output: AsJson = False,
) -> None:
    """Judge whether a plan of a runbook would begin now: its age, policy, preconditions and facts.

    Exit code: 0 safe, 23 it would be refused, 22 unknown: a source was not read.
    """
    app, made = the_app(ctx), read_plan(file)
    access = for_plan(reach.access(of_a_plan=True), made)
    rules = Site(app.environ).policy(policy)
    act = carry_out(app, access, made, file, rules, runbooks)
    _show(_live(ctx, access, act, wait, debounce), json_output)


@_judged
def upgrade(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The version of Kafka, such as 4.3.1.")],
    request_log: Annotated[
        list[Path] | None,
        typer.Option(
            "--request-log",
            metavar="FILE",
            help="A request log of a broker (repeatable), by which kfix names clients that Kafka 4 refuses.",
        ),
    ] = None,
) -> Act:
    """Judge an upgrade of all nodes, one after the other: versions, each restart, and clients that Kafka 4 refuses.

    Exit code: 0 safe, 23 unsafe, 22 unknown: something that matters was not read.
    """
    return upgraded(version, request_log or ())


@_judged
def migration(
    phase: Annotated[str, typer.Argument(metavar="PHASE", help="prepare or move (brokers), or finish (controllers).")],
) -> Act:
    """Judge a phase of a migration from ZooKeeper to KRaft: versions, controllers, ZooKeeper's copy, each restart.

    Exit code: 0 safe, 23 unsafe, or it is not the next phase, 22 unknown: something that matters was not read.
    """
    return acts.migration(phase)


def _live(ctx: typer.Context, access: Access, act: Act, wait: float, debounce: float) -> Preflight:
    if not 0 <= debounce <= _LONGEST or not 0 <= wait <= _LONGEST:
        raise UsageError(f"--debounce and --wait must be 0 to {_LONGEST} seconds")
    app, options = the_app(ctx), DiagnoseOptions(debounce=debounce)
    return wait_until_safe(lambda: preflight_live(app, access, act, options), wait, app.clock, _still)


def _show(found: Preflight, json_output: bool) -> NoReturn:
    if json_output:
        say_document(preflight_json(found))
    else:
        print_lines(preflight_lines(found), PlainConsole(sys.stdout))
    raise typer.Exit(found.exit_code)


def _still(found: Preflight) -> None:
    """Says on standard error what the act waits for, whenever that changes."""
    untils = dict.fromkeys(each.until for each in found.assessment.obstacles)
    for text in untils or found.assessment.unknown:
        say(f"waiting until {text}" if untils else f"waiting; unknown: {text}", err=True)
