"""`kfix lab cut`, `isolate`, `slow` and others: network faults in a lab with zones."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from kfix.front.terminal import say
from kfix.lab.cli.console import Name, open_lab, print_json
from kfix.lab.process.host import program

Zone = Annotated[str, typer.Argument(metavar="ZONE", help="az1, az2 or az3.")]
Only = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="KIND",
        help="Only this traffic: kafka, or controller (to and from brokers). With ZooKeeper also zookeeper, or quorum "
        "(between its servers). On KRaft also brokers (kafka without controllers), or heartbeats (of brokers).",
    ),
]


def cut(
    one: Annotated[str, typer.Argument(metavar="ZONE", help="The zone whose packets are dropped.")],
    other: Annotated[str, typer.Argument(metavar="ZONE", help="The zone that they are sent to.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="Only from the first to the second.")] = False,
    only: Only = "",
    name: Name = None,
) -> None:
    """Cut two zones from each other: packets are dropped, connections stay open."""
    lab = open_lab(name)
    lab.cut(one, other, one_way=one_way, only=only)
    _print(lab.status().network)


def isolate(zone: Zone, only: Only = "", name: Name = None) -> None:
    """Cut a zone off from all other zones, in both directions. This machine still reaches it."""
    lab = open_lab(name)
    lab.isolate(zone, only)
    _print(lab.status().network)


def power_off(zone: Zone, name: Name = None) -> None:
    """Send SIGKILL to all processes of a zone at once, as a power failure does."""
    _print(open_lab(name).power_off(zone))


def power_on(zone: Zone, name: Name = None) -> None:
    """Start the dead processes of a zone: ZooKeeper, then brokers; wait until they serve."""
    _print(open_lab(name).power_on(zone) or ("no process of the zone was dead",))


def slow(
    zone: Annotated[str, typer.Argument(metavar="ZONE|BROKER", help="A zone, or a broker: its zone's link.")],
    kbit: Annotated[int, typer.Option("--kbit", metavar="N", help="Kilobits per second, each way.")] = 500,
    delay: Annotated[
        int, typer.Option("--delay", metavar="MS", help="Delay in milliseconds (the kernel needs netem).")
    ] = 0,
    name: Name = None,
) -> None:
    """Slow down the link of a zone, in both directions."""
    lab = open_lab(name)
    lab.slow(lab.zone_of_broker(int(zone)) if zone.isdigit() else zone, kbit, delay)
    _print(lab.status().network)


def run_in(
    zone: Zone,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command, after --.")],
    name: Name = None,
) -> None:
    """Run a command inside a zone, as on a machine there."""
    prefix = open_lab(name).zone(zone).host().prefix
    full = (program(prefix[0], "Debian's package iproute2"), *prefix[1:], program(command[0], command[0]), *command[1:])
    os.execv(full[0], full)  # noqa: S606 - the command is what the user typed


def zones(name: Name = None) -> None:
    """Print each zone with its address and namespace, as JSON."""
    print_json([asdict(each) for each in open_lab(name).zones()])


def _print(sentences: tuple[str, ...]) -> None:
    for sentence in sentences:
        say(sentence)
