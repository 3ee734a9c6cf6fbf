"""`kfix runbook resume`, `abort`, `rollback`, `throttle`, `verify`: what becomes of a run that was begun."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.app.access import Access
from kfix.app.healing.plans import plan_json
from kfix.app.healing.runs import rethrottle
from kfix.app.healing.session import Approval, healing
from kfix.app.healing.site import Site
from kfix.app.text import a_reason
from kfix.cli.options import (
    Ack,
    Approve,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Countersign,
    PlanOut,
    PolicyFile,
    RunId,
    StepByStep,
    Timeout,
    ZooKeeper,
)
from kfix.cli.runbook.plan import write
from kfix.cli.runbook.screen import Out
from kfix.cli.seam import the_app
from kfix.errors import NotProvedError
from kfix.harmless import lines
from kfix.report.runbook.progress import rate_words
from kfix.report.runbook.run import aborted
from kfix.report.terminal import say, say_document, say_json


def resume(
    ctx: typer.Context,
    run: RunId,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    did: Annotated[
        list[str] | None,
        typer.Option("--did", metavar="STEP", help="Done by hand meanwhile; believed when the step's checks see it."),
    ] = None,
    policy: PolicyFile = None,
    approve: Approve = None,
    ack: Ack = None,
    countersign: Countersign = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Go on where a run was killed or stopped; what was changed is looked at and never issued again."""
    app, access = the_app(ctx), Access(bootstrap_server, zookeeper, command_config, timeout)
    site = Site(app.environ)
    found, rules = site.store().find(run), site.policy(policy)
    plan = found.plan()
    out = Out.of(json_output)
    approval = Approval(tuple(approve or ()), tuple(ack or ()), countersign, step)
    rules.refuse(plan)
    approval.to(plan)
    with healing(app, access.for_plan(plan)) as session:
        out.close(plan, session.resume(found, tuple(did or ()), approval, rules, out.attendance(plan, app.human)))


def abort(
    ctx: typer.Context,
    run: RunId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the journal.")],
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    json_output: AsJson = False,
) -> None:
    """End a killed or stopped run: put back what it left on (throttles); what it changed stays as it is."""
    app, access = the_app(ctx), Access(bootstrap_server, zookeeper, command_config, timeout)
    why = a_reason(reason)
    found = Site(app.environ).store().find(run)
    plan = found.plan()
    out = Out.of(json_output)
    with healing(app, access.for_plan(plan)) as session:
        ended = session.abort(found, why, out.attendance(plan, app.human))
    out.people.print(aborted(ended), soft_wrap=True)


def rollback(
    ctx: typer.Context,
    run: RunId,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is kept otherwise: replicas that were added and are in sync.")
    ] = False,
    policy: PolicyFile = None,
    output: PlanOut = None,
    step: StepByStep = False,
    json_output: AsJson = False,
) -> None:
    """Take a run back: its inverses as a plan of its own, last first, behind the same gates.

    Without a terminal: -o FILE writes that plan, and kfix runbook apply --plan FILE carries it out.
    """
    app, access = the_app(ctx), Access(bootstrap_server, zookeeper, command_config, timeout)
    site = Site(app.environ)
    found, rules = site.store().find(run), site.policy(policy)
    out = Out.of(json_output)
    with healing(app, access.for_plan(found.plan())) as session:
        undo = session.plan_rollback(found, rules, everything=everything)
        out.show(undo)
        if output is not None:
            write(undo, output, out)
            if json_output:
                say_document(plan_json(undo))
            return
        approval = Approval(step_by_step=step)
        out.close(undo, session.carry_out(undo, approval, rules, out.attendance(undo, app.human)))


def throttle(
    ctx: typer.Context,
    run: RunId,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="Bytes per second for each broker, such as 50MB/s.")],
    policy: PolicyFile = None,
    json_output: AsJson = False,
) -> None:
    """Another throttle for a run that is copying replicas; the run takes it up by itself within seconds."""
    done = rethrottle(Site(the_app(ctx).environ), run, rate, policy)
    people = Out.of(json_output).people
    if done.gone:
        when = f"the run's process is gone: kfix runbook resume {done.run} takes it up"
    else:
        when = f"the run takes it up within seconds: kfix runbook history {done.run}"
    people.print(f"{done.run}: {rate_words(done.bytes_per_second)} asked for; {when}", soft_wrap=True)
    if json_output:
        say_json({"run": done.run, "bytes_per_second": done.bytes_per_second})


def verify(
    ctx: typer.Context,
    run: RunId,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    json_output: AsJson = False,
) -> None:
    """Prove again, any time later, that what a run healed is still well; nothing is changed."""
    app, access = the_app(ctx), Access(bootstrap_server, zookeeper, command_config, timeout)
    found = Site(app.environ).store().find(run)
    with healing(app, access.for_plan(found.plan())) as session:
        proof, standing = session.verify(found)
    for call, answer in proof.last:
        told = {"check": str(call), "verdict": answer.verdict, "observed": answer.observed, "wanted": answer.wanted}
        if json_output:
            say_json(told)
        else:
            say(f"{answer.verdict.value:<13} {call}: {answer.observed}")
    if proof.verdict != "pass":
        raise NotProvedError(lines(f"{found.id}: not proved ({proof.verdict}):", proof.words))
    say(f"{found.id}: proved, {proof.in_row} good reads in a row", err=json_output)
    for call, answer in standing:
        say(f"still to come: {call}: {answer.observed}; wanted: {answer.wanted}", err=json_output)
