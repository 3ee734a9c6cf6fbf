"""`kfix runbook plan`, `apply`, `countersign`: from a finding or a request to a plan, and from a plan to its proof."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli import runbook_flow as flow
from kfix.cli import runbook_site as site
from kfix.cli import runbook_wish as wishes
from kfix.cli.options import (
    Ack,
    Approve,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Countersign,
    Debounce,
    FindingKey,
    JsonIn,
    Params,
    PlanFile,
    PlanOut,
    PolicyFile,
    RunbookFolder,
    RunbookName,
    StepByStep,
    Timeout,
    ZooKeeper,
)
from kfix.errors import UsageError

if TYPE_CHECKING:
    from kfix.model.plan import Plan

HAS_STEPS = 10
HAS_TYPED_STEPS = 11


def plan(
    name: RunbookName,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    debounce: Debounce = 10.0,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: RunbookFolder = None,
    policy: PolicyFile = None,
    json_in: JsonIn = None,
    json_out: Annotated[
        Path | None,
        typer.Option(
            "--json-out", metavar="FILE", help="Write the moves for kafka-reassign-partitions, never over a file."
        ),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option(
            "--diff", metavar="PLAN", help="Show what differs from an older plan; with --json, that and no plan."
        ),
    ] = None,
    output: PlanOut = None,
    json_output: AsJson = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 10 where there is something to do, 11 with a typed gate.")
    ] = False,
) -> None:
    """Plan a remedy, or what a person asks for, and show it; nothing is changed."""
    from kfix.app import cluster as wiring
    from kfix.model.plan import Gate
    from kfix.runbook import planfile

    wanted = wishes.wish(
        name, runbooks, finding=finding, given=param or [], json_in=json_in, policy=policy, debounce=debounce
    )
    _free(output, json_out)
    older = None if diff is None else planfile.read(diff)
    out = flow.Out.of(json_output)
    target = wiring.make_target(bootstrap_server, zookeeper, command_config, timeout)
    findings, snapshot = wishes.find(wanted, target, out.people)
    if len(findings) > 1:
        keys = "\n  ".join(f"--finding {f.key}" for f in findings)
        raise UsageError(f"{name} is for {len(findings)} findings here; a plan is for one:\n  {keys}")
    for one in findings:
        with wiring.open_cluster(target, snapshot) as live:
            made = wishes.make(wanted, one, snapshot, live.reader, out.people)
        if made is None:
            continue
        flow.show(made, out.people)
        if older is not None:
            _tell_differences(older, made, out)
        if json_out is not None:
            _write_moves(made, json_out, out)
        if output is not None:
            write(made, output, out)
        if json_output and older is None:
            typer.echo(planfile.to_json(made), nl=False)
        if exit_code:
            raise typer.Exit(HAS_TYPED_STEPS if made.highest_gate >= Gate.TYPED else HAS_STEPS)


def _free(*files: Path | None) -> None:
    """Told before the cluster is looked at; the writing itself goes over no file in any case."""
    named = [file for file in files if file is not None]
    for file in named:
        if os.path.lexists(file):
            raise UsageError(f"{file} exists and is not overwritten", hint="name another file")
    if len({file.absolute() for file in named}) < len(named):
        raise UsageError(f"{named[0]} cannot be the plan and its moves at once", hint="name two files")


def write(made: Plan, output: Path, out: flow.Out) -> None:
    from kfix.runbook import planfile
    from kfix.runbook.gates import flags

    planfile.write(made, output)
    out.people.print(f"written to {output}; to carry it out:", soft_wrap=True)
    out.people.print(f"  kfix runbook apply --plan {output} {flags(made)}", soft_wrap=True, highlight=False)


def _tell_differences(older: Plan, made: Plan, out: flow.Out) -> None:
    from kfix.report.plan_notes import print_differences
    from kfix.runbook.plandiff import differences

    rows = [(d.what, d.was, d.is_) for d in differences(older, made)]
    out.people.print()
    out.people.print(f"against plan {older.short_id} of {older.created.by}:")
    print_differences(rows, out.people)
    for what, was, is_ in rows if out.json else ():
        typer.echo(json.dumps({"what": what, "was": was, "is": is_}, ensure_ascii=False))


def _write_moves(made: Plan, path: Path, out: flow.Out) -> None:
    from kfix.placement.reassignment_json import render
    from kfix.private import new_private

    moves = [(s.args.tp(), s.args.brokers("replicas")) for s in made.steps if s.action == "reassign.move"]
    if not moves:
        raise UsageError(f"plan {made.short_id} moves no replica: there is nothing to write to {path}")
    try:
        with os.fdopen(new_private(path), "w", encoding="utf-8") as file:
            file.write(render(moves))
    except FileExistsError as error:
        raise UsageError(f"{path} exists and is not overwritten", hint="name another file with --json-out") from error
    except OSError as error:
        raise UsageError(f"{path}: the moves cannot be written: {error.strerror}") from error
    out.people.print(f"{len(moves)} moves written to {path}; without kfix, and without its guards and throttles:")
    command = f"kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {path} --execute"
    out.people.print(f"  {command}", soft_wrap=True)


def apply(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Plan this runbook, show it, ask, carry it out.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    debounce: Debounce = 10.0,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Carry out this plan instead, exactly as it is.")
    ] = None,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: RunbookFolder = None,
    policy: PolicyFile = None,
    json_in: JsonIn = None,
    approve: Approve = None,
    ack: Ack = None,
    countersign: Countersign = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Carry out a remedy behind its gates and prove that it helped. --approve, --ack, --countersign go with --plan."""
    from kfix.app import cluster as wiring
    from kfix.runbook import planfile

    out = flow.Out.of(json_output)
    answers = flow.Answers(tuple(approve or ()), tuple(ack or ()), countersign, step)
    if plan_file is not None:
        if name is not None or finding is not None or param or runbooks is not None or json_in is not None:
            raise UsageError("--plan goes alone: the plan says which runbook, finding and parameters")
        given = planfile.read(plan_file)
        rules = site.policy(policy)
        rules.refuse(given)
        answers.to(given)
        with flow.Where(bootstrap_server, zookeeper, command_config, timeout).to_change(given) as live:
            flow.show(given, out.people)
            flow.carry_out(given, live, answers, out, rules)
        return
    if name is None:
        raise UsageError("say which runbook, or --plan FILE", hint="kfix runbook list")
    if answers.given:
        raise UsageError(
            "--approve, --ack and --countersign name a plan, so they go with --plan FILE",
            hint=f"kfix runbook plan {name} -o plan.json, look at it, then apply --plan plan.json",
        )
    wanted = wishes.wish(
        name, runbooks, finding=finding, given=param or [], json_in=json_in, policy=policy, debounce=debounce
    )
    target = wiring.make_target(bootstrap_server, zookeeper, command_config, timeout)
    findings, snapshot = wishes.find(wanted, target, out.people)
    changed: list[str] = []
    for number, one in enumerate(findings, 1):
        if len(findings) > 1:
            out.people.print(f"{number} of {len(findings)}, one after the other: {', '.join(f.key for f in findings)}")
        with flow.after(changed):
            # What was changed for the finding before this one is not in the first look.
            seen = wiring.look(target) if changed else snapshot
            with wiring.open_cluster(target, seen) as live:
                made = wishes.make(wanted, one, seen, live.reader, out.people)
                if made is not None:
                    flow.show(made, out.people)
                    changed += flow.carry_out(made, live, answers, out, wanted.policy)


def countersign(
    plan_file: PlanFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Write the signature there, never over a file.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why you stand behind this plan.")],
    json_output: AsJson = False,
) -> None:
    """Sign a plan as the second person; whoever applies it passes the file to apply --countersign."""
    import time

    from kfix.runbook import planfile
    from kfix.runbook.countersign import sign

    if not site.utf8("--reason", reason).strip():
        raise UsageError("--reason needs a reason")
    out = flow.Out.of(json_output)
    given = planfile.read(plan_file)
    flow.show(given, out.people)
    signed = sign(given, output, reason.strip(), time.time())
    out.people.print(f"signed by {signed['by']}: {output}; whoever applies plan {given.short_id}:", soft_wrap=True)
    out.people.print(f"  kfix runbook apply --plan {plan_file} --countersign {output}", soft_wrap=True)
    if json_output:
        typer.echo(json.dumps(signed, ensure_ascii=False))
