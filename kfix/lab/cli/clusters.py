"""`kfix lab`: real throw-away clusters, and incidents in them on demand."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.core.wording import several
from kfix.front import completion
from kfix.front.console import console_on, joined, table
from kfix.front.terminal import say
from kfix.lab import Lab, LabSpec, LabStatus, down_all
from kfix.lab.cli.console import (
    PROCESS_HELP,
    Json,
    Name,
    end_like_ctrl_c,
    numbers,
    open_lab,
    print_json,
    process_named,
    progress,
)
from kfix.lab.definition.recipes import ON, ZK, recipe_of, versions
from kfix.lab.definition.spec import parse_sasl, parse_settings
from kfix.lab.nodes.classpath import fetch as fetch_jars
from kfix.lab.nodes.migrating import STEPS

# `kfix lab grow`: a large cluster for measurements.

_WIDTH = 20


def grow(
    partitions: Annotated[int, typer.Argument(metavar="N", min=1, max=1_000_000, help="Partitions in all.")],
    rf: Annotated[int, typer.Option("--rf", min=1, help="Replication factor of the new topics.")] = 3,
    width: Annotated[int, typer.Option("--width", min=1, max=1000, help="Partitions per topic.")] = _WIDTH,
    name: Name = None,
) -> None:
    """Create empty topics until the lab has N partitions, to measure commands on a large cluster."""
    lab = open_lab(name)
    end_like_ctrl_c()
    with progress() as report:
        created = lab.grow(partitions, rf, width, report)
    say(f"{created} partitions created; every broker lists at least {partitions}")


Process = Annotated[list[str], typer.Argument(metavar="PROCESS", help=PROCESS_HELP)]


def up(
    kafka: Annotated[
        str, typer.Option("--kafka", metavar="VERSION", help="Kafka version: 2.7.1, 3.9.2, 4.3.1 or 4.4.0.")
    ] = "2.7.1",
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="zk|kraft",
            help="With ZooKeeper, or on KRaft (default: zk where the version supports it; 3.9.2 supports both).",
        ),
    ] = None,
    brokers: Annotated[int, typer.Option("--brokers", min=1, max=20, help="Number of brokers, with ids from 1.")] = 3,
    ids: Annotated[
        str | None,
        typer.Option("--ids", metavar="ID,...", help="The brokers' ids, such as 1001,1002,1003, instead of --brokers."),
    ] = None,
    racks: Annotated[
        str | None, typer.Option("--racks", metavar="RACK,...", help="One rack per broker, in the order of the ids.")
    ] = None,
    zookeepers: Annotated[
        int | None,
        typer.Option("--zookeepers", help="1, or an ensemble of 3 (not on KRaft).", show_default="1, with zones 3"),
    ] = None,
    controllers: Annotated[int, typer.Option("--controllers", help="KRaft: 1 controller, or 3.")] = 1,
    combined: Annotated[
        bool,
        typer.Option(
            "--combined",
            help="KRaft: the first brokers are also the controllers; without it, controllers are separate.",
        ),
    ] = False,
    dynamic_quorum: Annotated[
        bool,
        typer.Option(
            "--dynamic-quorum", help="KRaft: a quorum whose voters can change (KIP-853); without it, a static one."
        ),
    ] = False,
    no_elr: Annotated[
        bool, typer.Option("--no-elr", help="Kafka 4: without eligible leader replicas (KIP-966).")
    ] = False,
    zones: Annotated[
        int,
        typer.Option(
            "--zones",
            help="3: each zone has its own network, broker and ZooKeeper server or controller (needs root).",
        ),
    ] = 0,
    offsets_rf: Annotated[
        int | None,
        typer.Option(
            "--offsets-rf", help="Replication factor of __consumer_offsets (default: 3, fewer with fewer brokers)."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A broker setting; repeatable.")
    ] = None,
    chroot: Annotated[
        str,
        typer.Option("--chroot", metavar="/PATH", help="The cluster's root in ZooKeeper (default: /)."),
    ] = "",
    heap: Annotated[int, typer.Option("--heap", metavar="MB", help="Heap of each process, in MB.")] = 200,
    kafka_home: Annotated[
        str | None,
        typer.Option("--kafka-home", metavar="FOLDER", help="An unpacked Kafka distribution, instead of Maven's jars."),
    ] = None,
    sasl: Annotated[
        str | None,
        typer.Option(
            "--sasl", envvar="KFIX_LAB_SASL", metavar="USER:PASSWORD", help="Add a second listener with SASL."
        ),
    ] = None,
    security: Annotated[
        str,
        typer.Option(
            "--security",
            metavar="WORD",
            help="Security of a second listener and of the controllers: plaintext, tls, mtls, sasl_plaintext or "
            "sasl_ssl.",
        ),
    ] = "plaintext",
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="WORD",
            help="SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI.",
        ),
    ] = None,
    acls: Annotated[
        bool,
        typer.Option(
            "--acls",
            help="Enable an authorizer; the client of the second listener gets only the rights that kfix needs.",
        ),
    ] = False,
    zookeeper_security: Annotated[
        str,
        typer.Option(
            "--zookeeper-security", metavar="WORD", help="Security of ZooKeeper: plaintext, tls, mtls, digest or sasl."
        ),
    ] = "plaintext",
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the lab.")] = "lab",
) -> None:
    """Start a cluster of real brokers on this machine."""
    spec = LabSpec(
        name=name,
        kafka=kafka,
        mode=mode,
        ids=numbers("--ids", ids) if ids else tuple(range(1, brokers + 1)),
        racks=tuple(each.strip() for each in racks.split(",")) if racks else (),
        zookeepers=zookeepers,
        controllers=controllers,
        combined=combined,
        dynamic_quorum=dynamic_quorum,
        elr=not no_elr,
        zones=zones,
        offsets_rf=offsets_rf,
        settings=parse_settings(settings or []),
        chroot=chroot,
        heap_mb=heap,
        kafka_home=kafka_home,
        sasl=parse_sasl(sasl) if sasl else None,
        security=security,
        mechanism=mechanism,
        acls=acls,
        zookeeper_security=zookeeper_security,
    )
    end_like_ctrl_c()
    with progress() as report:
        lab = Lab.up(spec, progress=report)
    say(f"lab {lab.name!r} is up")
    say(f"  --bootstrap-server {lab.bootstrap_servers}")
    for file in lab.client_files:
        say(f"  --command-config {file}")
    if not spec.is_secured and lab.sasl_bootstrap_servers:
        say(f"  --bootstrap-server {lab.sasl_bootstrap_servers}  (SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512)")
    say(f"  {_keeper(lab.status())}")


def fetch(
    kafka: Annotated[
        list[str] | None,
        typer.Argument(metavar="VERSION", help="Versions of Kafka.", show_default="all that the lab runs"),
    ] = None,
) -> None:
    """Download what labs of these versions of Kafka need: they start at once then, and offline."""
    chosen = [recipe_of(each) for each in dict.fromkeys(kafka or versions())]
    with progress() as report:
        fetch_jars(chosen, report)
    say(f"ready: Kafka {', '.join(each.kafka for each in chosen)}")


def status(name: Name = None, as_json: Json = False) -> None:
    """Show the processes (alive, stopped, dead), the incident and the network faults."""
    found = open_lab(name).status()
    if as_json:
        print_json(asdict(found))
        return
    rows = table()
    for title in ("process", "condition", "pid", "address", "rack", ""):
        rows.add_column(title)
    for each in found.processes:
        rows.add_row(
            f"{each.role} {each.id}", each.condition, str(each.pid or "-"), each.address, each.rack or "-", each.note
        )
    console = console_on(sys.stdout)
    console.print(
        f"lab {found.name}: Kafka {found.kafka} {ON[found.mode]}, incident: {found.incident or 'none'}", highlight=False
    )
    for sentence in found.network:
        console.print(sentence, highlight=False)
    console.print(
        f"--bootstrap-server {found.bootstrap_servers} {_keeper(found)}",
        soft_wrap=True,
        highlight=False,
    )
    if found.sasl_bootstrap_servers:
        console.print(
            f"--bootstrap-server {found.sasl_bootstrap_servers} with {found.security}", soft_wrap=True, highlight=False
        )
    console.print(rows)


def _keeper(found: LabStatus) -> str:
    """Returns the addresses of what keeps the record."""
    if found.mode == ZK:
        return f"--zookeeper {found.zookeeper_connect}"
    active = "none is active" if found.active_controller is None else f"{found.active_controller} is active"
    return f"(controllers {found.controllers}: {active})"


def down(
    name: Name = None,
    every: Annotated[bool, typer.Option("--all", help="All labs of this user.")] = False,
) -> None:
    """Remove a lab: its processes, data and state. This also works after a crash."""
    for sentence in down_all() if every else open_lab(name).down():
        say(sentence)


def kill(process: Process, name: Name = None) -> None:
    """Send SIGKILL to a broker (and wait until its session has ended), a ZooKeeper server or a controller."""
    lab, (role, number) = open_lab(name), process_named(" ".join(process))
    buried = lab.kill(number, role)
    end = f"; {lab.authority.buried if buried else 'no controller is left to fence it'}" if role == "broker" else ""
    say(f"{role} {number} is dead{end}")


def stop(process: Process, name: Name = None) -> None:
    """Stop a process (SIGSTOP): it keeps its connections and does not answer."""
    lab, (role, number) = open_lab(name), process_named(" ".join(process))
    lab.stop(number, role)
    say(f"{role} {number} is stopped")


def cont(process: Process, name: Name = None) -> None:
    """Continue a stopped process (SIGCONT)."""
    lab, (role, number) = open_lab(name), process_named(" ".join(process))
    lab.cont(number, role)
    say(f"{role} {number} continues")


def restart(process: Process, name: Name = None) -> None:
    """Start a dead process, or restart a live one cleanly; wait until it answers."""
    lab, (role, number) = open_lab(name), process_named(" ".join(process))
    lab.restart(number, role=role)
    say(f"{role} {number} is up")


def upgrade(
    process: Process,
    kafka: Annotated[str, typer.Option("--kafka", metavar="VERSION", help="The newer version of Kafka.")],
    name: Name = None,
) -> None:
    """Restart a broker or controller on KRaft with a newer version; wait until it answers."""
    lab, (role, number) = open_lab(name), process_named(" ".join(process))
    lab.upgrade(number, kafka, role)
    say(f"{role} {number} is up with Kafka {kafka}")


def migrate(
    step: Annotated[str, typer.Argument(metavar="STEP", help="begin, prepare, move, finish, withdraw or back.")],
    process: Annotated[list[str] | None, typer.Argument(metavar="PROCESS", help=PROCESS_HELP)] = None,
    controllers: Annotated[int, typer.Option("--controllers", min=1, max=3, help="How many begin starts.")] = 1,
    name: Name = None,
) -> None:
    """Carry one step of a migration to KRaft out: begin it, restart one process for a step, or withdraw it."""
    if step not in STEPS:
        raise UsageError(f"{step!r} is no step of a migration", hint=", ".join(STEPS))
    lab = open_lab(name)
    role, number = process_named(" ".join(process)) if process else ("broker", None)
    lab.migrate(step, number, role, controllers)
    say(f"the migration of lab {lab.name} has been through {step}" if number is None else f"{role} {number}: {step}")


def incidents(as_json: Json = False) -> None:
    """List the incidents: what each does, what to expect, its options."""
    from kfix.lab.incidents import INCIDENTS  # noqa: PLC0415 - no other command of the lab needs them all

    if as_json:
        fields = ("name", "title", "does", "expect", "needs", "options", "lines", "not_on")
        print_json([{field: getattr(each, field) for field in fields} for each in INCIDENTS.values()])
        return
    console = console_on(sys.stdout)
    for each in INCIDENTS.values():
        console.print(joined((each.name, "bold"), (f"  {each.title}", "")), soft_wrap=True)
        say(f"    does    {each.does}")
        say(f"    lines   {', '.join(each.lines)}")
        for line, reason in each.not_on.items():
            say(f"    not on  {line}: {reason}")
        for sentence in each.expect:
            say(f"    expect  {sentence}")
        for option, meaning in each.options.items():
            say(f"    --option {option}=...  {meaning}")


def break_(
    incident: Annotated[
        str,
        typer.Argument(metavar="INCIDENT", help="One of `kfix lab incidents`.", autocompletion=completion.incidents),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="An option of the incident; repeatable."),
    ] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Inject an incident into a lab, and verify on the cluster that it is in place."""
    options = parse_settings(option or [], flag="--option")
    with progress() as report:
        broken = open_lab(name).break_(incident, progress=report, **options)
    if as_json:
        print_json(asdict(broken))
        return
    for sentence in broken.did:
        say(sentence)
    say("expect:")
    for sentence in broken.expect:
        say(f"  {sentence}")


def mend(
    name: Name = None,
    network: Annotated[
        bool, typer.Option("--network", help="Only remove cuts and slow links; dead processes stay dead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Undo the incident: restore brokers, replicas, topics, settings and the network."""
    lab = open_lab(name)
    if network:
        faults = lab.heal()
        did = [f"removed {several(faults, 'cut or slow link', 'cuts or slow links')}"]
    else:
        with progress() as report:
            did = [*lab.mend(progress=report)]
    if as_json:
        print_json({"did": did})
        return
    for sentence in did:
        say(sentence)
