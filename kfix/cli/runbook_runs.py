"""`kfix runbook resume`, `abort`, `rollback`, `throttle`, `verify`, `history`: what becomes of a run that was begun."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kfix.cli import runbook_flow as flow
from kfix.cli import runbook_plan
from kfix.cli import runbook_site as site
from kfix.cli import runbook_wish as wishes
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
from kfix.errors import NotProvedError, RefusedError, UsageError

if TYPE_CHECKING:
    from kfix.runbook.store import RunDir


def resume(
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
    from kfix.runbook.rollback import or_roll_back
    from kfix.runbook.run import resume as go_on

    found = site.store().find(run)
    plan = found.plan()
    out = flow.Out.of(json_output)
    answers = flow.Answers(tuple(approve or ()), tuple(ack or ()), countersign, step)
    rules = site.policy(policy)
    rules.refuse(plan)
    answers.to(plan)
    with flow.Where(bootstrap_server, zookeeper, command_config, timeout).to_change(plan) as live:
        scene = flow.scene(plan, live, answers, out)
        flow.told(plan, lambda: or_roll_back(lambda: go_on(found, scene, tuple(did or ())), scene, rules.raised), out)


def abort(
    run: RunId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the journal.")],
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    json_output: AsJson = False,
) -> None:
    """End a killed or stopped run: put back what it left on (throttles); what it changed stays as it is."""
    from kfix.report.runbook_run import aborted
    from kfix.runbook.run import abort as end

    if not site.utf8("--reason", reason).strip():
        raise UsageError("--reason needs a reason")
    found = site.store().find(run)
    plan = found.plan()
    out = flow.Out.of(json_output)
    with flow.Where(bootstrap_server, zookeeper, command_config, timeout).of(plan) as live:
        ended = end(found, flow.scene(plan, live, flow.Answers(), out), reason.strip())
    out.people.print(aborted(ended), soft_wrap=True)


def rollback(
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
    from kfix.runbook import planfile
    from kfix.runbook.taking_back import make_rollback

    found = site.store().find(run)
    before = found.plan()
    rules = site.policy(policy)
    out = flow.Out.of(json_output)
    with flow.Where(bootstrap_server, zookeeper, command_config, timeout).to_change(before) as live:
        here = live.reader.identity()
        if here.name != before.cluster.name:
            raise RefusedError(f"{found.id} was on cluster {before.cluster.name}, this is {here.name}")
        undo = rules.raised(make_rollback(found, live.reader, wishes.created(), everything=everything))
        flow.show(undo, out.people)
        if output is not None:
            runbook_plan.write(undo, output, out)
            if json_output:
                typer.echo(planfile.to_json(undo), nl=False)
            return
        flow.carry_out(undo, live, flow.Answers(step_by_step=step), out, rules)


def throttle(
    run: RunId,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="Bytes per second for each broker, such as 50MB/s.")],
    policy: PolicyFile = None,
    json_output: AsJson = False,
) -> None:
    """Another throttle for a run that is copying replicas; the run takes it up by itself within seconds."""
    from kfix.model.plan import Gate
    from kfix.report.runbook_progress import rate_words
    from kfix.runbook.replay import replay
    from kfix.runbook.rethrottle import wish
    from kfix.runbook.run import whoami

    found = site.store().find(run)
    plan, journal = found.plan(), found.journal()
    if site.policy(policy).gate("throttle.rate") > Gate.PLAN:
        raise RefusedError("the site's policy asks before each throttle: stop the run, and make a new plan")
    ended = replay(journal.records).outcome
    if ended:
        raise RefusedError(f"{found.id} has ended ({ended}): nothing takes up another throttle")
    bytes_per_second = wish(found.path, plan, site.utf8("RATE", rate), str(whoami()["user"]))
    people = flow.Out.of(json_output).people
    if _is_gone(journal.records):
        when = f"the run's process is gone: kfix runbook resume {found.id} takes it up"
    else:
        when = f"the run takes it up within seconds: kfix runbook history {found.id}"
    people.print(f"{found.id}: {rate_words(bytes_per_second)} asked for; {when}", soft_wrap=True)
    if json_output:
        typer.echo(json.dumps({"run": found.id, "bytes_per_second": bytes_per_second}))


def _is_gone(records: tuple[Mapping[str, Any], ...]) -> bool:
    """Only known of a process of this host; anywhere else it is taken to be alive."""
    import os
    import socket

    who = records[-1].get("who", {}) if records else {}
    if who.get("host") != socket.gethostname() or type(who.get("pid")) is not int:
        return False
    try:
        os.kill(who["pid"], 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def verify(
    run: RunId,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    json_output: AsJson = False,
) -> None:
    """Prove again, any time later, that what a run healed is still well; nothing is changed."""
    from kfix.runbook.clock import SystemClock
    from kfix.runbook.run import prove_again

    found = site.store().find(run)
    plan = found.plan()
    with flow.Where(bootstrap_server, zookeeper, command_config, timeout).of(plan) as live:
        proof, standing = prove_again(plan, live.reader, SystemClock())
    for call, answer in proof.last:
        told = {"check": str(call), "verdict": answer.verdict, "observed": answer.observed, "wanted": answer.wanted}
        typer.echo(json.dumps(told) if json_output else f"{answer.verdict.value:<13} {call}: {answer.observed}")
    if proof.verdict != "pass":
        raise NotProvedError(f"{found.id}: not proved ({proof.verdict}):\n{proof.words}")
    typer.echo(f"{found.id}: proved, {proof.in_row} good reads in a row", err=json_output)
    for call, answer in standing:
        typer.echo(f"still to come: {call}: {answer.observed}; wanted: {answer.wanted}", err=json_output)


def history(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run, event by event; none lists all.")] = None,
    json_output: AsJson = False,
) -> None:
    """What was run here, by whom, and how it ended; read from the journals."""
    from dataclasses import asdict

    from kfix.report import runbook_history as report
    from kfix.report.console import console_on
    from kfix.runbook.history import summaries

    store = site.store()
    if run is not None:
        _one(store.find(run), json_output)
        return
    found = tuple(summaries(store))
    if json_output:
        for one in found:
            typer.echo(json.dumps(asdict(one), ensure_ascii=False))
    elif found:
        report.print_runs(found, console_on(sys.stdout))
    else:
        typer.echo(f"no runs yet under {store.runs_dir}")


def _one(directory: RunDir, json_output: bool) -> None:
    from kfix.report import runbook_history as report
    from kfix.report.console import console_on
    from kfix.runbook.history import summary

    journal = directory.journal()
    if json_output:
        for record in journal.records:
            typer.echo(json.dumps(record, ensure_ascii=False))
    else:
        report.print_records(journal.records, console_on(sys.stdout))
    for note in summary(directory).notes:
        typer.echo(f"kfix: {note}", err=True)
    if journal.broken:
        raise RefusedError(f"{directory.id}: the journal cannot be trusted from there on")
