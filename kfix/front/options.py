"""Options that several commands share, named as in Kafka's own tools."""

from pathlib import Path
from typing import Annotated

import typer

from kfix.core.args import parse_duration
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.numbers import broker_id
from kfix.front import completion

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar="KFIX_BOOTSTRAP_SERVER",
        metavar="HOST:PORT,...",
        help="Brokers for the initial connection.",
    ),
]
ClusterName = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="NAME",
        help="The cluster of this name in the inventory (kfix context list).",
        autocompletion=completion.contexts,
    ),
]
ZooKeeper = Annotated[
    str | None,
    typer.Option(
        "--zookeeper",
        envvar="KFIX_ZOOKEEPER",
        metavar="HOST:PORT,.../CHROOT",
        help="ZooKeeper, if the address in the brokers' own settings is not reachable from here.",
    ),
]
BootstrapController = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-controller",
        envvar="KFIX_BOOTSTRAP_CONTROLLER",
        metavar="HOST:PORT,...",
        help="KRaft controllers, if the addresses in the brokers' own settings are not reachable from here.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        envvar="KFIX_COMMAND_CONFIG",
        metavar="FILE",
        help="Client properties for TLS and SASL, as for Kafka's tools.",
    ),
]


def duration(text: str) -> float:
    """Returns a duration in seconds: `10s`, `2m`, `500ms`; a number without a unit is one of seconds."""
    try:
        return float(text)
    except ValueError:
        try:
            return parse_duration(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None


#: The value of --partition that means every partition.
ALL = "all"


def offsets_partition(text: str) -> int:
    """Returns the number of a partition of `__consumer_offsets`, given as `3` or `__consumer_offsets-3`."""
    found = broker_id(text.removeprefix(f"{OFFSETS_TOPIC}-"))
    if found is None:
        hint = f"3, {OFFSETS_TOPIC}-3, or {ALL}"
        raise UsageError(f"--partition: {text!r} is not a partition of {OFFSETS_TOPIC}", hint=hint)
    return found


Timeout = Annotated[
    float,
    typer.Option(
        "--timeout", envvar="KFIX_TIMEOUT", parser=duration, metavar="TIME", help="Timeout for reading all sources."
    ),
]
Debounce = Annotated[
    float,
    typer.Option(
        "--debounce", parser=duration, metavar="TIME", help="How long a transient state must last to be reported."
    ),
]
RestartGrace = Annotated[
    float,
    typer.Option(
        "--restart-grace", parser=duration, metavar="TIME", help="How long a broker that left counts as restarting."
    ),
]
TransactionGrace = Annotated[
    float,
    typer.Option(
        "--transaction-grace", parser=duration, metavar="TIME", help="How long an open transaction counts as running."
    ),
]
FromFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="A saved snapshot, pasted output of Kafka's tools, of kcat or of the ZooKeeper shell, or logs or a folder "
        "of them; - is standard input. Repeat it to merge snapshots saved from several vantages at the same time.",
    ),
]
Vantage = Annotated[
    str | None,
    typer.Option("--vantage", metavar="NAME", help="Vantage name (default: the host name)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, as -o json does.")]


RunbookName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A runbook's name, as kfix runbook list shows it.", autocompletion=completion.runbooks
    ),
]
RunbookFolder = Annotated[
    Path | None,
    typer.Option(
        "--runbooks",
        metavar="DIR",
        help="A site's own runbooks; they override the user's own, and those override kfix's.",
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
        "--json-in", metavar="FILE", help="The moves, in the JSON of kafka-reassign-partitions (for move-replicas)."
    ),
]
OffsetsIn = Annotated[
    Path | None,
    typer.Option("--offsets", metavar="FILE", help="Offsets that kfix offsets save wrote (for restore-offsets)."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        envvar="KFIX_POLICY",
        help="The site's policy: higher gates, lower limits (default: policy.yaml in the settings folder, if present).",
    ),
]
RunId = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id or a part of it, as kfix runbook history shows it.",
        autocompletion=completion.runs,
    ),
]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan file, written by kfix runbook plan --output-file.")
]
PlanOut = Annotated[Path | None, typer.Option("--output-file", metavar="FILE", help="Write the plan to a new file.")]
Approve = Annotated[
    list[str] | None,
    typer.Option("--approve", metavar="LEVEL:ID", help="plan:<plan-id-8> or step:<plan-id-8>, for this plan only."),
]
Ack = Annotated[
    list[str] | None,
    typer.Option("--ack", metavar="STEP=PHRASE", help="The exact phrase of a typed step."),
]
Countersign = Annotated[
    Path | None,
    typer.Option(
        "--countersign", metavar="FILE", help="A second person's signature for this plan (kfix runbook countersign)."
    ),
]
StepByStep = Annotated[
    bool, typer.Option("--step", help="Ask before every change; only --approve step:ID covers that.")
]
