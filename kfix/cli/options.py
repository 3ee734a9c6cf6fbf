"""Options that several commands share; they carry the names of Kafka's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server", envvar="KFIX_BOOTSTRAP_SERVER", metavar="HOST:PORT,...", help="Brokers to start from."
    ),
]
ZooKeeper = Annotated[
    str | None,
    typer.Option(
        "--zookeeper",
        metavar="HOST:PORT,.../CHROOT",
        help="ZooKeeper, where the brokers' own setting is not reachable from here.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="Client properties for TLS and SASL, as Kafka's tools read."),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Bound of one look, all sources together.")
]
FromFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="A saved snapshot, or text pasted from kafka-topics --describe, kcat -L. Several: snapshots saved in "
        "several places at one time, merged.",
    ),
]
Vantage = Annotated[
    str | None,
    typer.Option("--vantage", metavar="NAME", help="What this place is called; the machine's name, if not told."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine output on standard output.")]

# -- of the runbook commands

Debounce = Annotated[
    float, typer.Option("--debounce", metavar="SECONDS", help="How long a doubtful state must last to count.")
]
RunbookName = Annotated[str, typer.Argument(metavar="NAME", help="A runbook's name; kfix runbook list tells them.")]
RunbookFolder = Annotated[
    Path | None,
    typer.Option(
        "--runbooks",
        metavar="DIR",
        help="A site's own runbooks; they go before the user's own, and those before kfix's.",
    ),
]
FindingKey = Annotated[
    str | None, typer.Option("--finding", metavar="KEY", help="Only this finding, such as KFX101:__consumer_offsets-3.")
]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the runbook.")
]
JsonIn = Annotated[
    Path | None,
    typer.Option(
        "--json-in", metavar="FILE", help="The moves to make, as kafka-reassign-partitions reads them (move-replicas)."
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        envvar="KFIX_POLICY",
        help="A site's rules: higher gates, lower limits; else policy.yaml in the settings folder, where there is one.",
    ),
]
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, or a part of it; kfix runbook history lists them.")
]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's file, as kfix runbook plan -o wrote it.")]
PlanOut = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the plan there, never over a file.")
]
Approve = Annotated[
    list[str] | None,
    typer.Option("--approve", metavar="LEVEL:ID", help="plan:<plan-id-8> or step:<plan-id-8>: this plan, no other."),
]
Ack = Annotated[
    list[str] | None,
    typer.Option("--ack", metavar="STEP=PHRASE", help="The phrase of a typed step, word for word."),
]
Countersign = Annotated[
    Path | None,
    typer.Option(
        "--countersign", metavar="FILE", help="A second person's signature under this plan (kfix runbook countersign)."
    ),
]
StepByStep = Annotated[
    bool, typer.Option("--step", help="Every change asks by itself; only --approve step:ID covers that.")
]
