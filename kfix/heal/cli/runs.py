"""`kfix runbook history`, `resume`, `abort`, `rollback`, `throttle`, `verify`: commands on existing runs."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from kfix.core.errors import NotProvedError, RefusedError
from kfix.core.harmless import lines
from kfix.core.wording import rate_text, several
from kfix.front import completion
from kfix.front.console import console_on
from kfix.front.grouped import with_options
from kfix.front.options import Ack, Approve, AsJson, Countersign, PlanOut, PolicyFile, RunId, StepByStep
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_document, say_json
from kfix.front.text import a_reason
from kfix.heal.cli.plan import write
from kfix.heal.cli.screen import Out
from kfix.heal.journal.runs import summaries, summary
from kfix.heal.plan.planfile import to_json
from kfix.heal.report.history import print_records, print_runs
from kfix.heal.report.run import aborted
from kfix.heal.session.session import Approval, for_plan, healing, rethrottle
from kfix.heal.session.site import Site


@with_options
def resume(
    ctx: typer.Context,
    run: RunId,
    reach: ClusterOptions,
    did: Annotated[
        list[str] | None,
        typer.Option("--did", metavar="STEP", help="A step done by hand; accepted if its checks confirm it."),
    ] = None,
    policy: PolicyFile = None,
    approve: Approve = None,
    ack: Ack = None,
    countersign: Countersign = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Continue a run that was killed or stopped; no change is sent twice."""
    app = the_app(ctx)
    access = reach.access(of_a_plan=True)
    site = Site(app.environ)
    found, rules = site.store().find(run), site.policy(policy)
    plan = found.plan()
    out = Out.of(json_output)
    approval = Approval(tuple(approve or ()), tuple(ack or ()), countersign, step)
    rules.refuse(plan)
    approval.to(plan)
    access = for_plan(access, plan)
    with healing(app, access, rules) as session:
        result = session.resume(found, tuple(did or ()), approval, out.attendance(plan, app.human))
    out.close(plan, result, access)
    out.left(app, plan, result, access)


@with_options
def abort(
    ctx: typer.Context,
    run: RunId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, recorded in the journal.")],
    reach: ClusterOptions,
    json_output: AsJson = False,
) -> None:
    """End a killed or stopped run: remove its throttles, restore the topic's settings, and keep the rest."""
    app = the_app(ctx)
    access = reach.access(of_a_plan=True)
    why = a_reason(reason)
    found = Site(app.environ).store().find(run)
    plan = found.plan()
    out = Out.of(json_output)
    with healing(app, for_plan(access, plan)) as session:
        ended = session.abort(found, why, out.attendance(plan, app.human))
    out.people.print(aborted(ended), soft_wrap=True)


@with_options
def rollback(
    ctx: typer.Context,
    run: RunId,
    reach: ClusterOptions,
    everything: Annotated[
        bool, typer.Option("--all", help="Also revert what is kept by default: added replicas that are in sync.")
    ] = False,
    policy: PolicyFile = None,
    output: PlanOut = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Roll back a run: revert its changes, last one first, as a separate plan behind the same gates.

    Without a terminal, --output-file FILE writes that plan, and kfix runbook apply --plan FILE carries it out.
    """
    app = the_app(ctx)
    access = reach.access(of_a_plan=True)
    site = Site(app.environ)
    found, rules = site.store().find(run), site.policy(policy)
    out = Out.of(json_output)
    with healing(app, for_plan(access, found.plan()), rules) as session:
        undo = session.plan_rollback(found, everything=everything)
        if output is not None:
            out.show(undo)
            write(undo, output, access, out)
            if json_output:
                say_document(to_json(undo))
            return
        attendance = out.attendance(undo, app.human)
        out.show_before_gates(undo, attendance.human, apart=step)
        out.close(undo, session.carry_out(undo, Approval(step_by_step=step), attendance), access)


def throttle(
    ctx: typer.Context,
    run: RunId,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="Bytes per second for each broker, such as 50MB/s.")],
    policy: PolicyFile = None,
    json_output: AsJson = False,
) -> None:
    """Change the throttle of a run that is copying replicas; it applies the new rate within seconds."""
    done = rethrottle(Site(the_app(ctx).environ), run, rate, policy)
    people = Out.of(json_output).people
    if done.gone:
        when = f"the run's process has ended: {done.resume}   will apply it"
    else:
        when = f"the run applies it within seconds: kfix runbook history {done.run}"
    people.print(f"{done.run}: {rate_text(done.bytes_per_second)} requested; {when}", soft_wrap=True)
    if json_output:
        say_json({"run": done.run, "bytes_per_second": done.bytes_per_second})


@with_options
def verify(
    ctx: typer.Context,
    run: RunId,
    reach: ClusterOptions,
    json_output: AsJson = False,
) -> None:
    """Prove again that what a run healed is still healthy; nothing is changed."""
    app = the_app(ctx)
    access = reach.access(of_a_plan=True)
    found = Site(app.environ).store().find(run)
    with healing(app, for_plan(access, found.plan())) as session:
        proof, standing = session.verify(found)
    for call, answer in proof.last:
        row = {"check": str(call), "verdict": answer.verdict, "observed": answer.observed, "wanted": answer.wanted}
        if json_output:
            say_json(row)
        else:
            say(f"{answer.verdict.value:<13} {call}: {answer.observed}")
    if proof.verdict != "pass":
        raise NotProvedError(lines(f"{found.id}: not proved ({proof.verdict}):", proof.words))
    say(f"{found.id}: proved, {several(proof.in_row, 'successful check')} in a row", err=json_output)
    for call, answer in standing:
        say(f"still pending: {call}: {answer.observed}; expected: {answer.wanted}", err=json_output)


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
    found = tuple(summaries(site.store()))
    if json_output:
        for one in found:
            say_json(asdict(one), ascii_only=False)
    elif found:
        print_runs(found, console_on(sys.stdout))
    else:
        say(f"no runs yet under {site.store().runs_dir}")


def _one(site: Site, text: str, json_output: bool) -> None:
    found = site.store().find(text)
    journal = found.journal()
    if json_output:
        for record in journal.records:
            say_json(record, ascii_only=False)
    else:
        print_records(journal.records, console_on(sys.stdout))
    for note in summary(found).notes:
        say(f"kfix: {note}", err=True)
    if journal.broken:
        raise RefusedError(f"{found.id}: the journal cannot be trusted after that line")
