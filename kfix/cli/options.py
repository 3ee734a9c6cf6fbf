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
FromFile = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FILE", help="A saved snapshot, or text pasted from kafka-topics --describe, kcat -L."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine output on standard output.")]
