"""`kfix runbook plan`, `apply`, `countersign`: from a finding or request to a plan, and from a plan to its proof."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import UsageError
from kfix.core.harmless import lines
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import TIMING, DiagnosisTimes
from kfix.core.wording import several
from kfix.front import completion
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
from kfix.front.reaching import ClusterOptions, is_given, reaches
from kfix.front.seam import the_app
from kfix.front.terminal import say_document, say_json
from kfix.front.text import a_reason
from kfix.heal.cli.screen import Out, after
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.report.plan import print_differences
from kfix.heal.session.plans import (
    approval_flags,
    countersign_plan,
    plan_differences,
    plan_json,
    read_plan,
    write_moves,
    write_plan,
)
from kfix.heal.session.request import HealRequest, Matched, Nothing, read_request
from kfix.heal.session.session import Approval, diagnosed_for, for_plan, healing, just_diagnosed, left_by
from kfix.heal.session.site import Site

_LONGEST = 86_400
HAS_STEPS = 10
HAS_TYPED_STEPS = 11


@reaches
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
    """Plan a remedy or a request, and show the plan. Nothing is changed."""
    app = the_app(ctx)
    access = reach.access()
    out = Out.of(json_output)
    options = _options(debounce, transaction_grace, access, out)
    asked = _asked(app, name, runbooks, finding, param, (json_in, offsets), policy, options)
    _refuse_existing(output, json_out)
    older = None if diff is None else read_plan(diff)
    found, _, snapshot = _matched(app, access, asked, options, out)
    if len(found.findings) > 1:
        keys = (f"  --finding {shlex.quote(f.key)}" for f in found.findings)
        raise UsageError(
            lines(f"{name} matches {len(found.findings)} findings, and a plan is for one. Choose one:", *keys)
        )
    for one in found.findings:
        with healing(app, access, snapshot) as session:
            made = _plan_or_reasons(*session.plan(asked, one, snapshot), out)
        if made is None:
            continue
        out.show(made)
        if older is not None:
            _show_differences(older, made, out)
        if json_out is not None:
            _write_moves(made, json_out, out)
        if output is not None:
            write(made, output, access, out, runbooks)
        if json_output and older is None:
            say_document(plan_json(made))
        if exit_code:
            raise typer.Exit(HAS_TYPED_STEPS if made.highest_gate >= Gate.TYPED else HAS_STEPS)


def _asked(
    app: App,
    name: str,
    runbooks: Path | None,
    finding: str | None,
    param: list[str] | None,
    given: tuple[Path | None, Path | None],
    policy: Path | None,
    options: DiagnoseOptions,
) -> HealRequest:
    """`given` are the files of moves and of saved offsets."""
    return read_request(
        Site(app.environ),
        name,
        runbooks,
        finding=finding,
        params=param or (),
        moves_file=given[0],
        offsets_file=given[1],
        policy=policy,
        judged=options.times,
    )


def _options(debounce: float, transaction_grace: float, access: Access, out: Out) -> DiagnoseOptions:
    if not all(0 <= seconds <= _LONGEST for seconds in (debounce, transaction_grace)):
        raise UsageError(f"--debounce and --transaction-grace must be 0 to {_LONGEST} seconds")
    return DiagnoseOptions(
        debounce=debounce,
        restart_grace=access.criteria.restart_grace,
        transaction_grace=transaction_grace,
        waiting=out.waiting,
    )


def _matched(
    app: App, access: Access, asked: HealRequest, options: DiagnoseOptions, out: Out
) -> tuple[Matched, Diagnosis, Snapshot]:
    found, diagnosis, snapshot = diagnosed_for(app, access, asked, options)
    out.warn(found.warnings)
    if found.nothing:
        out.people.print(found.nothing)
    return found, diagnosis, snapshot


def _plan_or_reasons(made: Plan | Nothing, warnings: tuple[str, ...], out: Out) -> Plan | None:
    out.warn(warnings)
    if isinstance(made, Plan):
        return made
    for line in made.lines:
        out.people.print(line)
    return None


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
    write_plan(made, output)
    reach = access.options() if access.name or access.command_config else []
    reach += [] if runbooks is None else ["--runbooks", str(runbooks)]
    out.people.print(f"written to {output}; to carry it out:", soft_wrap=True)
    command = f"kfix runbook apply --plan {shlex.quote(str(output))} {approval_flags(made)} {shlex.join(reach)}"
    out.people.print(f"  {command.rstrip()}", soft_wrap=True, highlight=False)


def _show_differences(older: Plan, made: Plan, out: Out) -> None:
    rows = plan_differences(older, made)
    out.people.print()
    out.people.print(f"compared with plan {older.short_id} of {older.created.by}:")
    print_differences(rows, out.people)
    for what, was, is_ in rows if out.json else ():
        say_json({"what": what, "was": was, "is": is_}, ascii_only=False)


def _write_moves(made: Plan, path: Path, out: Out) -> None:
    count = write_moves(made, path)
    text = f"{several(count, 'move')} written to {path}; to carry out without kfix, its guards and its throttles:"
    out.people.print(text)
    file = shlex.quote(str(path))
    command = f"kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {file} --execute"
    out.people.print(f"  {command}", soft_wrap=True)


@reaches
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
        _apply_plan(app, access, read_plan(plan_file), approval, (policy, runbooks), out)
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
    asked = _asked(app, name, runbooks, finding, param, (json_in, offsets), policy, options)
    found, diagnosis, snapshot = _matched(app, access, asked, options, out)
    just_now = just_diagnosed(app, diagnosis)
    keys = ", ".join(f.key for f in found.findings)
    changed: list[str] = []
    for number, one in enumerate(found.findings, 1):
        if len(found.findings) > 1:
            out.people.print(f"{number} of {len(found.findings)} findings, one after the other: {keys}")
        with after(changed):
            # Changes made for the previous finding are not in the first snapshot.
            seen = app.clusters.snapshot(access, SnapshotOptions()) if changed else snapshot
            with healing(app, access, seen) as session:
                made = _plan_or_reasons(*session.plan(asked, one, seen), out)
                if made is not None:
                    attendance = out.attendance(made, app.human)
                    out.show_before_gates(made, attendance.human, apart=step)
                    result = session.carry_out(made, approval, asked.policy, attendance, just_now, runbooks)
                    out.close(made, result, access)
                    changed += result.changed
            if made is not None and finding is not None and result.changed:
                out.left(made, left_by(app, access, made), access)


def _apply_plan(
    app: App, access: Access, given: Plan, approval: Approval, files: tuple[Path | None, Path | None], out: Out
) -> None:
    """Carries out a stored plan; `files` are the policy and the folder of runbooks.

    A wrong approval or a policy violation is refused before the cluster is contacted.
    """
    policy, runbooks = files
    rules = Site(app.environ).policy(policy)
    rules.refuse(given)
    approval.to(given)
    access = for_plan(access, given)
    with healing(app, access) as session:
        attendance = out.attendance(given, app.human)
        out.show_before_gates(given, attendance.human, apart=approval.step_by_step)
        result = session.carry_out(given, approval, rules, attendance, runbooks=runbooks)
        out.close(given, result, access)
    if result.changed and not given.undoes:
        out.left(given, left_by(app, access, given), access)


def countersign(
    plan_file: PlanFile,
    output: Annotated[Path, typer.Option("--output-file", metavar="FILE", help="Write the signature to a new file.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why you approve this plan.")],
    json_output: AsJson = False,
) -> None:
    """Sign a plan as the second person; the file is passed to apply --countersign."""
    why = a_reason(reason)
    out = Out.of(json_output)
    given = read_plan(plan_file)
    out.show(given)
    signed = countersign_plan(given, output, why)
    out.people.print(f"signed by {signed['by']}: {output}; to apply plan {given.short_id}:", soft_wrap=True)
    approving = approval_flags(given).removesuffix("--countersign FILE").rstrip()
    signature = shlex.join(["--countersign", str(output)])
    command = f"kfix runbook apply --plan {shlex.quote(str(plan_file))} {approving} {signature}"
    out.people.print(f"  {command}", soft_wrap=True)
    if json_output:
        say_json(signed, ascii_only=False)
