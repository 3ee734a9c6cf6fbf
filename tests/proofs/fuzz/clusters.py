"""Kinds that a cluster says: znodes, registrations, answers of brokers. Collected over sockets, judged and printed."""

from __future__ import annotations

import copy
import io
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from kfix.core.collect.collector import collect
from kfix.core.collect.options import CollectOptions
from kfix.core.criteria import Criteria
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, kraft_messages, new_groups, requests, sasl
from kfix.core.kafka.api import Request
from kfix.core.kafka.codec import ByteReader
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.snapshot.holder import held_error, parse_holder
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.core.zookeeper import fresh
from kfix.core.zookeeper.connect import open_line, parse_connect
from kfix.diagnose.pasted.reader import parse_pasted
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.table import print_findings
from kfix.diagnose.report.verdict import exit_code, nagios_line
from kfix.whatif.forecast import forecast_of
from kfix.whatif.json_forecast import forecast_json
from kfix.whatif.table import print_forecast
from kfix_diagnostics.engine import diagnose
from tests.listening import listening
from tests.proofs.fuzz.bending import bent_bytes, bent_json
from tests.proofs.fuzz.counting import Case
from tests.proofs.fuzz.healthy import VERSIONS, answers, lists, znodes
from tests.proofs.fuzz.servers import Broker, ZooKeeperServer, stat

# -- what becomes of it


def judged(snapshot: Snapshot, random: Random) -> None:
    """All the way: judged, printed in one of the ways, saved and read back as the same."""
    diagnosis = diagnose(snapshot, criteria=Criteria(prevention=random.random() < 0.3))
    match random.randrange(4):
        case 3:
            foretold(snapshot, random)
        case 0:
            print_findings(diagnosis, Console(file=io.StringIO(), markup=False))
        case 1:
            assert json.loads(findings_json(diagnosis))
        case _:
            assert nagios_line(diagnosis)
    assert exit_code(diagnosis) in {0, 20, 21, 22}
    text = json.dumps(encode(snapshot))
    again = files.parse(text, Path("again.json"))
    odd = [f.name for f in fields(snapshot) if getattr(again, f.name) != getattr(snapshot, f.name)]
    # What only a pasted text has, how the cluster was named, and what reading it cost, is stored by no file.
    assert set(odd) <= {"origin", "pasted", "reached_by", "traffic"}, (
        f"what is saved was read: {[(n, getattr(snapshot, n)) for n in odd]}"
    )


def foretold(snapshot: Snapshot, random: Random) -> None:
    """Of a bent snapshot too every failure has a forecast, unless no source shows which brokers are alive."""
    try:
        forecast = forecast_of(snapshot, None)
    except UnreachableError:
        return
    assert json.loads(forecast_json(forecast))
    down = random.choice(forecast.brokers)
    one = forecast_of(snapshot, f"broker={down}")
    print_forecast(one, Console(file=io.StringIO(), markup=False), chosen=True)


def only_loopback() -> None:
    """A hostile registration may name any host; nobody is asked for it."""
    real = socket.getaddrinfo

    def ask(host: Any, *more: Any, **named: Any) -> Any:
        if isinstance(host, str) and host.isascii() and host not in {"127.0.0.1", "::1", "localhost"}:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return real(host, *more, **named)

    socket.getaddrinfo = ask


@contextmanager
def world() -> Iterator[tuple[ZooKeeperServer, Broker, str, str, int]]:
    only_loopback()
    zookeeper, broker = ZooKeeperServer(), Broker(versions=VERSIONS)
    with listening(zookeeper.talk) as at, listening(broker.talk) as there:
        broker.answers = answers(there.port)
        yield zookeeper, broker, str(at), str(there), there.port


def _as_bytes(nodes: Mapping[str, Any]) -> dict[str, bytes]:
    return {path: json.dumps(value).encode() for path, value in nodes.items()}


def _reset(zookeeper: ZooKeeperServer, plain: Mapping[str, bytes]) -> dict[str, bytes]:
    nodes = dict(plain)
    zookeeper.nodes, zookeeper.children = nodes, lists()
    zookeeper.stats, zookeeper.bend = {}, None
    return nodes


def _look(zookeeper: str, broker: str, random: Random) -> None:
    target = make_target(broker, zookeeper, timeout=2.0)
    judged(collect(target, CollectOptions(vantage="here" if random.random() < 0.2 else "")), random)


def _znode_case(which: str) -> Any:
    @contextmanager
    def kind() -> Iterator[Case]:
        with world() as (zookeeper, _, at, there, port):
            values = znodes(port)
            plain = _as_bytes(values)
            mine = [p for p in values if p.startswith("/brokers/ids/") == (which == "registration")]

            def case(random: Random) -> None:
                nodes = _reset(zookeeper, plain)
                for path in random.sample(mine, random.choice((1, 1, 2))):
                    nodes[path] = bent_json(values[path], random)
                if which == "znode":
                    _odd_server(zookeeper, random)
                if random.random() < 0.7:
                    _look(at, there, random)
                elif which == "znode" and random.random() < 0.3:
                    _pasted_or_held(nodes, random)
                else:
                    _fresh(at, random)

            yield case

    return kind


def _odd_server(zookeeper: ZooKeeperServer, random: Random) -> None:
    match random.randrange(12):
        case 0:
            path = random.choice(list(lists()))
            odd = ("²", "9" * 30, "9" * 5000, "", "-1", "x/y", "\ud800", "007", "\x1b[2J")
            zookeeper.children = lists() | {path: (*lists()[path], random.choice(odd), random.choice(odd))}
        case 1:
            number = random.choice((2**63 - 1, -(2**63), -1, 0))
            path = random.choice(list(zookeeper.nodes))
            zookeeper.stats = {path: stat(mtime=number, ctime=number, mzxid=number, czxid=number, version=-1)}
        case 2:
            when = random.randrange(40)

            def bend(frame: bytes) -> bytes:
                nonlocal when
                when -= 1
                return bent_bytes(frame, random) if when == 0 else frame

            zookeeper.bend = bend


def _fresh(at: str, random: Random) -> None:
    connect, deadline, tp = parse_connect(at), Deadline.after(2.0), TopicPartition("orders", 0)
    with open_line(connect, deadline) as line:
        match random.randrange(7):
            case 0:
                fresh.read_partition(line, connect, tp, deadline)
            case 1:
                fresh.read_every_partition(line, connect, deadline)
            case 2:
                fresh.read_controller(line, connect, deadline)
            case 3:
                fresh.read_registered(line, connect, deadline)
            case 4:
                fresh.read_assignments(line, connect, "orders", deadline)
            case _:
                fresh.read_endpoint(line, connect, random.choice((1, 2)), "PLAINTEXT", deadline)


def _pasted_or_held(nodes: Mapping[str, bytes], random: Random) -> None:
    if random.random() < 0.5:
        lines = [f"{p} {d.decode('utf-8', 'replace')}" for p, d in nodes.items() if p.startswith("/brokers/topics/")]
        judged(parse_pasted("\n".join(lines), "paste.txt", 1_700_000_000.0), random)
        return
    holder = {"user": "me", "pid": "7", "host": "h", "since": "2026-11-21T10:00:00Z", "run": "r", "plan": "p"}
    raw = bent_json(holder, random)
    assert str(held_error("c", parse_holder(raw), where="here", hint="wait"))


znode = _znode_case("znode")
registration = _znode_case("registration")


_TP = TopicPartition("t", 0)
_ASKED: Sequence[Request[Any]] = (
    requests.list_offsets((), requests.LATEST),
    requests.metadata(),
    group_messages.offset_fetch("g"),
    group_messages.find_coordinator("g"),
    group_messages.describe_groups(()),
    group_messages.list_groups(),
    kraft_messages.api_versions(),
    requests.epoch_ends({}),
    requests.describe_configs(requests.TOPIC_RESOURCE, (), None),
    requests.describe_log_dirs(with_room=False),
    sasl.send_token(b""),
    requests.elect_leaders(_TP, unclean=False, timeout_ms=1),
    requests.alter_reassignment(_TP, None, 1),
    requests.list_reassignments(),
    new_groups.describe_consumer_groups((), 1),
    new_groups.describe_share_groups((), 1),
)
_DECODERS: Mapping[int, Any] = {each.api_key: each.decode for each in _ASKED}


@contextmanager
def broker_answers() -> Iterator[Case]:
    with world() as (zookeeper, broker, at, there, port):
        plain, values = answers(port), _as_bytes(znodes(port))

        def case(random: Random) -> None:
            key = random.choice(list(plain))
            if random.random() < 0.6:
                raw = _bent_answer(plain[key], random)
                reader = ByteReader(raw)
                decode = _DECODERS[random.choice((key, key, key, *_DECODERS))]
                decode(reader)
                return
            _reset(zookeeper, values)
            seed = random.random()
            broker.bend = {key: lambda raw: _bent_answer(raw, Random(seed))}
            broker.bend_frame = None
            if random.random() < 0.15:
                when = random.randrange(9)

                def bend(frame: bytes) -> bytes:
                    nonlocal when
                    when -= 1
                    return bent_bytes(frame, Random(seed)) if when == 0 else frame

                broker.bend, broker.bend_frame = {}, bend
            _look(at, there, random)

        yield case


def _bent_answer(raw: bytes, random: Random) -> bytes:
    data = bytearray(copy.copy(raw))
    if random.random() < 0.6 and len(data) > 4:
        # A whole field at once: lengths, counts, ids, ports.
        at = random.randrange(len(data) - 3)
        value = random.choice((-1, -2, 0, 1, 2, 7, 2**31 - 1, -(2**31), 70_000, 1 << 24, 1001))
        data[at : at + 4] = value.to_bytes(4, "big", signed=True)
        return bytes(data)
    return bent_bytes(bytes(data), random)
