"""`kfix runbook`: reviewed remedies, planned before they are carried out, proved after."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from kfix.cli import runbook_flow as flow
from kfix.cli.options import AsJson, BootstrapServer, CommandConfig, Timeout, ZooKeeper
from kfix.errors import NotProvedError, RefusedError, UsageError

HAS_STEPS = 10
HAS_TYPED_STEPS = 11

app = typer.Typer(no_args_is_help=True, help="Reviewed remedies: planned, shown, approved, carried out and proved.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A runbook's name; kfix runbook list tells them.")]
Folder = Annotated[
    Path | None, typer.Option("--runbooks", metavar="DIR", help="A site's own runbooks; they go before kfix's.")
]
FindingKey = Annotated[
    str | None, typer.Option("--finding", metavar="KEY", help="Only this finding, such as KFX101:__consumer_offsets-3.")
]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the runbook.")
]


@app.command("list")
def list_(runbooks: Folder = None, json_output: AsJson = False) -> None:
    """List the runbooks and the findings they are for."""
    from kfix.report import runbook as report
    from kfix.report.console import console_on
    from kfix.runbook import catalogue

    found = catalogue.load_all(runbooks)
    if json_output:
        for r in found:
            about = report.first_sentence(r.about)
            typer.echo(json.dumps({"id": r.id, "version": r.version, "fixes": list(r.codes), "about": about}))
        return
    report.print_runbooks(found, console_on(sys.stdout))


@app.command()
def show(name: Name, runbooks: Folder = None) -> None:
    """Show a runbook as a page: every step with why, gate, undo, proof, and the way by hand."""
    from kfix.actions.registry import ALL, described
    from kfix.report.runbook_page import ActionWords, page
    from kfix.runbook import catalogue

    words = {key: ActionWords(*described(action)) for key, action in ALL.items()}
    typer.echo(page(catalogue.load(name, runbooks), words), nl=False)


@app.command()
def validate(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files; none means all.")] = None,
    runbooks: Folder = None,
) -> None:
    """Check runbook files: all mistakes at once, each with its file, line and column."""
    from kfix.runbook import catalogue

    if files and runbooks is not None:
        raise UsageError("give files or --runbooks, not both")
    good = catalogue.validate(tuple(files or catalogue.files(runbooks).values()), codes=flow.codes())
    typer.echo(f"{len(good)} runbook{'' if len(good) == 1 else 's'}, no mistakes: {', '.join(r.id for r in good)}")


@app.command()
def plan(
    name: Name,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: Folder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the plan there, never over a file.")
    ] = None,
    json_output: AsJson = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 10 where there is something to do, 11 with a typed gate.")
    ] = False,
) -> None:
    """Plan a remedy and show it; nothing is changed."""
    from kfix import wiring
    from kfix.model.plan import Gate
    from kfix.report.console import console_on
    from kfix.runbook import catalogue, planfile

    runbook = catalogue.load(name, runbooks)
    params = flow.params(runbook, param or [])
    people = console_on(sys.stderr if json_output else sys.stdout)
    target = wiring.make_target(bootstrap_server, zookeeper, command_config, timeout)
    findings, snapshot = flow.find(runbook, target, finding, people)
    if len(findings) > 1:
        keys = "\n  ".join(f"--finding {f.key}" for f in findings)
        raise UsageError(f"{name} is for {len(findings)} findings here; a plan is for one:\n  {keys}")
    for one in findings:
        with wiring.open_cluster(target, snapshot) as live:
            made = flow.make(runbook, one, live.reader, params, people)
        if made is None:
            continue
        if output is not None:
            planfile.write(made, output)
            people.print(f"written to {output}; to carry it out:")
            people.print(f"  kfix runbook apply --plan {output} --approve plan:{made.short_id}", soft_wrap=True)
        if json_output:
            typer.echo(planfile.to_json(made), nl=False)
        if exit_code:
            raise typer.Exit(HAS_TYPED_STEPS if made.highest_gate is Gate.TYPED else HAS_STEPS)


@app.command()
def apply(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Plan this runbook, show it, ask, carry it out.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Carry out this plan instead, exactly as it is.")
    ] = None,
    finding: FindingKey = None,
    param: Params = None,
    runbooks: Folder = None,
    approve: Annotated[
        list[str] | None,
        typer.Option("--approve", metavar="LEVEL:ID", help="plan:<plan-id-8> or step:<plan-id-8>; only with --plan."),
    ] = None,
    ack: Annotated[
        list[str] | None,
        typer.Option("--ack", metavar="STEP=PHRASE", help="The phrase of a typed step; only with --plan."),
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Carry out a remedy behind its gates and prove that it helped."""
    from kfix import wiring
    from kfix.report.console import console_on
    from kfix.runbook import catalogue, planfile

    people = console_on(sys.stderr if json_output else sys.stdout)
    if plan_file is not None:
        if name is not None or finding is not None or param or runbooks is not None:
            raise UsageError("--plan goes alone: the plan says which runbook, finding and parameters")
        given = planfile.read(plan_file)
        known = bootstrap_server or given.cluster.bootstrap or None
        target = wiring.make_target(known, zookeeper or given.cluster.zookeeper or None, command_config, timeout)
        with wiring.open_cluster(target) as live:
            flow.show(given, people)
            flow.carry_out(given, live, (approve or [], ack or []), people, json_output)
        return
    if name is None:
        raise UsageError("say which runbook, or --plan FILE", hint="kfix runbook list")
    if approve or ack:
        raise UsageError(
            "--approve and --ack name a plan, so they go with --plan FILE",
            hint=f"kfix runbook plan {name} -o plan.json, look at it, then apply --plan plan.json",
        )
    runbook = catalogue.load(name, runbooks)
    params = flow.params(runbook, param or [])
    target = wiring.make_target(bootstrap_server, zookeeper, command_config, timeout)
    findings, snapshot = flow.find(runbook, target, finding, people)
    changed: list[str] = []
    for number, one in enumerate(findings, 1):
        if len(findings) > 1:
            people.print(f"{number} of {len(findings)}, one after the other: {', '.join(f.key for f in findings)}")
        with flow.after(changed), wiring.open_cluster(target, snapshot) as live:
            made = flow.make(runbook, one, live.reader, params, people)
            if made is not None:
                changed += flow.carry_out(made, live, ([], []), people, json_output)


@app.command()
def verify(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or a part of it.")],
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    timeout: Timeout = 5.0,
    json_output: AsJson = False,
) -> None:
    """Prove again, any time later, that what a run healed is still well; nothing is changed."""
    from kfix import wiring
    from kfix.runbook.clock import SystemClock
    from kfix.runbook.run import prove_again

    found = flow.store().find(run)
    plan = found.plan()
    known = bootstrap_server or plan.cluster.bootstrap or None
    target = wiring.make_target(known, zookeeper or plan.cluster.zookeeper or None, command_config, timeout)
    with wiring.open_cluster(target) as live:
        proof, standing = prove_again(plan, live.reader, SystemClock())
    for call, answer in proof.last:
        told = {"check": str(call), "verdict": answer.verdict, "observed": answer.observed, "wanted": answer.wanted}
        typer.echo(json.dumps(told) if json_output else f"{answer.verdict.value:<13} {call}: {answer.observed}")
    if proof.verdict != "pass":
        raise NotProvedError(f"{found.id}: not proved ({proof.verdict}):\n{proof.words}")
    typer.echo(f"{found.id}: proved, {proof.in_row} good reads in a row", err=json_output)
    for call, answer in standing:
        typer.echo(f"still to come: {call}: {answer.observed}; wanted: {answer.wanted}", err=json_output)


@app.command()
def history(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run, event by event; none lists all.")] = None,
    json_output: AsJson = False,
) -> None:
    """What was run here, by whom, and how it ended; read from the journals."""
    from dataclasses import asdict

    from kfix.report import runbook_history as report
    from kfix.report.console import console_on
    from kfix.runbook.history import summaries, summary

    store = flow.store()
    if run is None:
        found = tuple(summaries(store))
        if json_output:
            for one in found:
                typer.echo(json.dumps(asdict(one), ensure_ascii=False))
        elif found:
            report.print_runs(found, console_on(sys.stdout))
        else:
            typer.echo(f"no runs yet under {store.runs_dir}")
        return
    directory = store.find(run)
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
