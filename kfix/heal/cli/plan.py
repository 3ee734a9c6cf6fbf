"""`kfix runbook plan`, `apply`, `countersign`: from a finding or request to a plan, and from a plan to its proof."""

import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.diagnosis.finding import REQUEST
from kfix.core.errors import UsageError
from kfix.core.timing import TIMING, DiagnosisTimes
from kfix.core.wording import several
from kfix.front import completion
from kfix.front.grouped import with_options
from kfix.front.options import (
    Ack,
    Approve,
    AsJson,
    Countersign,
    Debounce,
    FindingKey,
    JsonIn,
    OffsetsIn,
    Params,
    PlanFile,
    PlanOut,
    PolicyFile,
    RunbookFolder,
    RunbookName,
    StepByStep,
    TransactionGrace,
)
from kfix.front.reaching import ClusterOptions, is_given
from kfix.front.seam import the_app
from kfix.front.terminal import say_document, say_json
from kfix.front.text import a_reason
from kfix.heal.cli.screen import Out, after
from kfix.heal.gate.countersign import sign
from kfix.heal.gate.gates import flags
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.plan import planfile
from kfix.heal.plan.plandiff import differences
from kfix.heal.report.plan import print_differences
from kfix.heal.session import session
from kfix.heal.session.request import HealRequest, Nothing, read_request
from kfix.heal.session.session import Approval
from kfix.heal.session.site import Site

_LONGEST = 86_400
HAS_STEPS = 10
HAS_TYPED_STEPS = 11


@with_options
def plan(
    ctx: typer.Context,
    name: RunbookName,
    reach: ClusterOptions,
    debounce: Debounce = TIMING.debounce,
    transaction_grace: TransactionGrace = TIMING.transaction_grace,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: RunbookFolder = None,
    policy: PolicyFile = None,
    json_in: JsonIn = None,
    offsets: OffsetsIn = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json-out", metavar="FILE", help="Write the moves for kafka-reassign-partitions to a new file."),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option(
            "--diff", metavar="PLAN", help="Show the differences from an older plan; with --json, only those."
        ),
    ] = None,
    output: PlanOut = None,
    json_output: AsJson = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit with 10 if the plan has steps, 11 if one of them needs a typed phrase."),
    ] = False,
) -> None:
    """Plan a remedy or a request, and show the plan; nothing is changed."""
    app, access, out = the_app(ctx), reach.access(), Out.of(json_output)
    options = _options(debounce, transaction_grace, access, out)
    _refuse_existing(output, json_out)
    older = None if diff is None else planfile.read(diff)
    made = session.plan(
        name,
        access,
        finding=finding,
        params=pairs(param),
        runbooks=runbooks,
        policy=policy,
        moves_file=json_in,
        offsets_file=offsets,
        options=options,
        warn=out.warn,
        app=app,
    )
    if isinstance(made, Nothing):
        out.nothing(made)
        return
    out.show(made)
    if older is not None:
        _show_differences(older, made, out)
    if json_out is not None:
        _write_moves(made, json_out, out)
    if output is not None:
        write(made, output, access, out, runbooks)
    if json_output and older is None:
        say_document(planfile.to_json(made))
    if exit_code:
        raise typer.Exit(HAS_TYPED_STEPS if made.highest_gate >= Gate.TYPED else HAS_STEPS)


def pairs(given: Sequence[str] | None) -> dict[str, str]:
    """Returns the parameters by name. Raises UsageError for a text that is not NAME=VALUE."""
    for text in given or ():
        if "=" not in text:
            raise UsageError(f"--param {text!r} is not NAME=VALUE")
    return dict(text.split("=", 1) for text in given or ())


def _options(debounce: float, transaction_grace: float, access: Access, out: Out) -> DiagnoseOptions:
    if not all(0 <= seconds <= _LONGEST for seconds in (debounce, transaction_grace)):
        raise UsageError(f"--debounce and --transaction-grace must be 0 to {_LONGEST} seconds")
    return DiagnoseOptions(
        debounce=debounce,
        restart_grace=access.criteria.restart_grace,
        transaction_grace=transaction_grace,
        waiting=out.waiting,
    )


def _refuse_existing(*files: Path | None) -> None:
    """Refuses existing output files before the cluster is read."""
    named = [file for file in files if file is not None]
    for file in named:
        if os.path.lexists(file):
            raise UsageError(f"{file} exists and is not overwritten", hint="name another file")
    if len({file.absolute() for file in named}) < len(named):
        raise UsageError(f"{named[0]} is named for both the plan and its moves", hint="name two files")


def write(made: Plan, output: Path, access: Access, out: Out, runbooks: Path | None = None) -> None:
    """Writes the plan, and prints the command that carries it out, with what a plan does not name: the client
    properties, and the folder of its runbook.
    """
    planfile.write(made, output)
    reach = access.options() if access.name or access.command_config else []
    reach += [] if runbooks is None else ["--runbooks", str(runbooks)]
    out.people.print(f"written to {output}; to carry it out:", soft_wrap=True)
    command = f"kfix runbook apply --plan {shlex.quote(str(output))} {flags(made)} {shlex.join(reach)}"
    out.people.print(f"  {command.rstrip()}", soft_wrap=True, highlight=False)


def _show_differences(older: Plan, made: Plan, out: Out) -> None:
    rows = differences(older, made)
    out.people.print()
    out.people.print(f"compared with plan {older.short_id} of {older.created.by}:")
    print_differences(rows, out.people)
    for what, was, is_ in rows if out.json else ():
        say_json({"what": what, "was": was, "is": is_}, ascii_only=False)


def _write_moves(made: Plan, path: Path, out: Out) -> None:
    count = planfile.write_moves(made, path)
    text = f"{several(count, 'move')} written to {path}; to carry out without kfix, its guards and its throttles:"
    out.people.print(text)
    file = shlex.quote(str(path))
    command = f"kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {file} --execute"
    out.people.print(f"  {command}", soft_wrap=True)


@with_options
def apply(
    ctx: typer.Context,
    reach: ClusterOptions,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Plan this runbook, show the plan, ask, and carry it out.",
            autocompletion=completion.runbooks,
        ),
    ] = None,
    debounce: Debounce = TIMING.debounce,
    transaction_grace: TransactionGrace = TIMING.transaction_grace,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Carry out this stored plan instead, unchanged.")
    ] = None,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: RunbookFolder = None,
    policy: PolicyFile = None,
    json_in: JsonIn = None,
    offsets: OffsetsIn = None,
    approve: Approve = None,
    ack: Ack = None,
    countersign: Countersign = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Carry out a remedy behind its gates and prove that it worked.

    --approve, --ack and --countersign require --plan.
    """
    app = the_app(ctx)
    access = reach.access(of_a_plan=plan_file is not None)
    out = Out.of(json_output)
    approval = Approval(tuple(approve or ()), tuple(ack or ()), countersign, step)
    if plan_file is not None:
        if name is not None or param or any(each is not None for each in (finding, json_in, offsets)):
            raise UsageError(
                "--plan excludes NAME, --finding, --param, --json-in and --offsets: the plan contains them"
            )
        if is_given(ctx, "debounce") or is_given(ctx, "transaction_grace"):
            raise UsageError("--plan excludes --debounce and --transaction-grace: the plan contains them")
        _apply_plan(app, access, planfile.read(plan_file), approval, (policy, runbooks), out)
        return
    if name is None:
        raise UsageError("name a runbook, or give --plan FILE", hint="kfix runbook list")
    if approval.given:
        judged = DiagnosisTimes(debounce=debounce, transaction_grace=transaction_grace).options()
        first = shlex.join(["kfix", "runbook", "plan", name, *access.options(), *judged, "--output-file", "plan.json"])
        raise UsageError(
            "--approve, --ack and --countersign are for one plan, so they require --plan FILE",
            hint=f"{first}, review it, then kfix runbook apply --plan plan.json{access.at}",
        )
    options = _options(debounce, transaction_grace, access, out)
    asked = read_request(
        Site(app.environ),
        name,
        runbooks,
        finding=finding,
        params=pairs(param),
        moves_file=json_in,
        offsets_file=offsets,
        policy=policy,
        judged=options.times,
    )
    _apply_each(app, access, asked, options, approval, runbooks, out)


def _apply_each(
    app: App,
    access: Access,
    asked: HealRequest,
    options: DiagnoseOptions,
    approval: Approval,
    runbooks: Path | None,
    out: Out,
) -> None:
    """Plans and carries out what the request applies to, one finding after the other."""
    found, snapshot, just_now = session.diagnosed_for(app, access, asked, options, out.warn)
    if isinstance(found, Nothing):
        out.nothing(found)
        return
    keys = ", ".join(f.key for f in found)
    changed: list[str] = []
    for number, one in enumerate(found, 1):
        if len(found) > 1:
            out.people.print(f"{number} of {len(found)} findings, one after the other: {keys}")
        with after(changed):
            # Changes made for the previous finding are not in the first snapshot.
            seen = app.clusters.snapshot(access, SnapshotOptions()) if changed else snapshot
            with session.healing(app, access, asked.policy, seen) as cluster:
                made = cluster.plan(asked, one, seen, out.warn)
                if isinstance(made, Nothing):
                    out.nothing(made)
                    continue
                attendance = out.attendance(made, app.human)
                out.show_before_gates(made, attendance.human, apart=approval.step_by_step)
                result = cluster.carry_out(made, approval, attendance, just_now, runbooks)
            out.close(made, result, access)
            changed += result.changed
            if asked.finding is not None or one.code == REQUEST:
                out.left(app, made, result, access)


def _apply_plan(
    app: App, access: Access, given: Plan, approval: Approval, files: tuple[Path | None, Path | None], out: Out
) -> None:
    """Carries out a stored plan; `files` are the policy and the folder of runbooks.

    A wrong approval or a policy violation is refused before the cluster is contacted.
    """
    policy, runbooks = files
    attendance = out.attendance(given, app.human)
    result = session.carry_out(
        given,
        access,
        approval=approval,
        policy=policy,
        runbooks=runbooks,
        human=attendance.human,
        listener=attendance.listener,
        opened=lambda: out.show_before_gates(given, attendance.human, apart=approval.step_by_step),
        app=app,
    )
    access = session.for_plan(access, given)
    out.close(given, result, access)
    out.left(app, given, result, access)


def countersign(
    plan_file: PlanFile,
    output: Annotated[Path, typer.Option("--output-file", metavar="FILE", help="Write the signature to a new file.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why you approve this plan.")],
    json_output: AsJson = False,
) -> None:
    """Sign a plan as the second person; the file is passed to apply --countersign."""
    why = a_reason(reason)
    out = Out.of(json_output)
    given = planfile.read(plan_file)
    out.show(given)
    signed = sign(given, output, why, time.time())
    out.people.print(f"signed by {signed['by']}: {output}; to apply plan {given.short_id}:", soft_wrap=True)
    approving = flags(given).removesuffix("--countersign FILE").rstrip()
    signature = shlex.join(["--countersign", str(output)])
    command = f"kfix runbook apply --plan {shlex.quote(str(plan_file))} {approving} {signature}"
    out.people.print(f"  {command}", soft_wrap=True)
    if json_output:
        say_json(signed, ascii_only=False)
