"""The specification of a lab, checked before anything is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING

from kfix.core.errors import UsageError
from kfix.lab.definition.protocols import (
    GSSAPI,
    MECHANISMS,
    MTLS,
    OAUTHBEARER,
    PLAINTEXT,
    PROTOCOLS,
    SASL_PROTOCOL,
    TLS,
    USER,
    check_keeper_security,
    check_security,
)
from kfix.lab.definition.recipes import KRAFT, recipe_of

if TYPE_CHECKING:
    from kfix.lab.definition.recipes import Recipe

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_CHROOT = re.compile(r"(/[A-Za-z0-9._-]+)+")
_USER = re.compile(r"[A-Za-z0-9._-]{1,40}")
_NOT_IN_JAAS = frozenset("\"'\\")
_MAX_ID = 1_000_000_000
_MIN_HEAP_MB = 96
_ZONES = 3
_FIRST_CONTROLLER = 100

_KRAFT_HINT = "--mode kraft with --kafka 3.9.2, or --kafka 4.3.1 or 4.4.0"
_ZK_HINT = "omit it, or --mode zk with --kafka 3.9.2, or --kafka 2.7.1"

# Settings that the lab writes itself: another value would break the lab's view of the cluster.
OWNED_SETTINGS: dict[str, str] = {
    "broker.id": "--ids",
    "node.id": "--ids",
    "broker.rack": "--racks",
    "listeners": "the lab's own ports",
    "advertised.listeners": "the lab's own ports",
    "sasl.enabled.mechanisms": "--sasl and --mechanism",
    "authorizer.class.name": "--acls",
    "super.users": "--acls",
    "security.inter.broker.protocol": "the lab's own listeners",
    "inter.broker.listener.name": "the lab's own listeners",
    "listener.security.protocol.map": "the lab's own listeners",
    "zookeeper.connect": "--zookeepers and --chroot",
    "process.roles": "--combined",
    "controller.listener.names": "the lab's own listeners",
    "controller.quorum.voters": "--controllers",
    "controller.quorum.bootstrap.servers": "--controllers and --dynamic-quorum",
    "log.dirs": "the lab's own folders",
    "log.dir": "the lab's own folders",
    "offsets.topic.replication.factor": "--offsets-rf",
}


@dataclass(frozen=True)
class LabSpec:
    name: str = "lab"
    kafka: str = "2.7.1"
    mode: str | None = None  # zk or kraft; None: the default of the version
    ids: tuple[int, ...] = (1, 2, 3)
    racks: tuple[str, ...] = ()
    zookeepers: int | None = None  # None: one, or one in each zone
    controllers: int = 1
    combined: bool = False  # the first brokers are the controllers, too
    dynamic_quorum: bool = False
    elr: bool = True  # eligible leader replicas, where the version has them
    offsets_rf: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    chroot: str = ""
    heap_mb: int = 200
    kafka_home: str | None = None
    sasl: tuple[str, str] | None = field(default=None, repr=False)  # user and password
    zones: int = 0  # network namespaces, each with a broker; 0: all on the loopback interface
    security: str = PLAINTEXT  # of a second listener, and of the controllers
    mechanism: str | None = None  # of SASL; None: PLAIN
    acls: bool = False
    zookeeper_security: str = PLAINTEXT  # of ZooKeeper's clients

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_brokers(self)
        (_check_quorum if self.recipe.mode == KRAFT else _check_ensemble)(self)
        if self.heap_mb < _MIN_HEAP_MB:
            raise UsageError(f"a heap of {self.heap_mb} MB is too small for a broker", hint=f"at least {_MIN_HEAP_MB}")
        check_security(
            self.security, self.mechanism, sasl=self.sasl is not None, zones=bool(self.zones), acls=self.acls
        )
        check_keeper_security(self.zookeeper_security, zones=bool(self.zones))
        if self.sasl is not None:
            _check_sasl(*self.sasl)
        for key in self.settings:
            if key in OWNED_SETTINGS:
                raise UsageError(
                    f"--set {key}: the lab sets this key itself", hint=f"it is derived from {OWNED_SETTINGS[key]}"
                )

    @property
    def recipe(self) -> Recipe:
        return recipe_of(self.kafka, self.mode)

    @property
    def servers(self) -> int:
        """Returns the number of ZooKeeper servers, none on KRaft."""
        return 0 if self.recipe.mode == KRAFT else self.zookeepers or self.zones or 1

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Returns the node ids of the controllers, none with ZooKeeper: the first brokers', or ids of their own."""
        if self.recipe.mode != KRAFT:
            return ()
        if self.combined:
            return tuple(sorted(self.ids))[: self.controllers]
        free = (each for each in count(_FIRST_CONTROLLER) if each not in self.ids)
        return tuple(islice(free, self.controllers))

    @property
    def zone_names(self) -> tuple[str, ...]:
        return tuple(f"az{number}" for number in range(1, self.zones + 1))

    def zone_of(self, position: int) -> str | None:
        """Returns the zone of the broker or ZooKeeper server at this position, counted from 0."""
        return self.zone_names[position % self.zones] if self.zones else None

    def rack_of(self, broker_id: int) -> str | None:
        if self.zones and broker_id in self.ids:
            return self.zone_of(sorted(self.ids).index(broker_id))
        return self.racks[self.ids.index(broker_id)] if self.racks and broker_id in self.ids else None

    @property
    def listeners(self) -> int:
        """Returns the number of ports a broker needs."""
        return 1 + bool(self.listener) + self.has_control_port

    @property
    def has_control_port(self) -> bool:
        """Whether a controller connects to brokers, at a port of its own, so that it can be cut off alone (KIP-291)."""
        return bool(self.zones) and self.recipe.mode != KRAFT

    @property
    def is_secured(self) -> bool:
        return self.security != PLAINTEXT

    @property
    def is_keeper_secured(self) -> bool:
        return self.zookeeper_security != PLAINTEXT

    @property
    def has_keeper_tls(self) -> bool:
        return self.zookeeper_security in {TLS, MTLS}

    @property
    def needs_certificates(self) -> bool:
        return self.has_tls or self.has_keeper_tls

    @property
    def has_tls(self) -> bool:
        return self.listener.endswith("SSL")

    @property
    def listener(self) -> str:
        """Returns the protocol, which is the name, too, of the second listener; empty without one."""
        if self.is_secured:
            return PROTOCOLS[self.security]
        return SASL_PROTOCOL if self.sasl is not None else ""

    @property
    def has_identity_provider(self) -> bool:
        return self.mechanism_used == OAUTHBEARER and self.recipe.validates_tokens

    @property
    def has_kdc(self) -> bool:
        return self.mechanism_used == GSSAPI

    @property
    def principal(self) -> str:
        """Returns who the lab's client is at the second listener."""
        return f"User:{self.sasl[0]}" if self.sasl is not None else f"User:CN={USER}"

    @property
    def mechanism_used(self) -> str:
        """Returns the mechanism of `--security sasl_...`, else an empty text."""
        return (self.mechanism or MECHANISMS[0]) if self.security.startswith("sasl_") else ""

    @property
    def offsets_replication(self) -> int:
        return self.offsets_rf if self.offsets_rf is not None else min(3, len(self.ids))


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r} cannot name a lab", hint="lower-case letters, digits and '-', at most 40")


def parse_sasl(text: str) -> tuple[str, str]:
    """Returns user and password. Raises UsageError, whose message never repeats the text: it may hold the password."""
    user, colon, password = text.partition(":")
    if not colon:
        raise UsageError("--sasl is not USER:PASSWORD", hint="like --sasl alice:secret")
    return user, password


def parse_settings(pairs: list[str], flag: str = "--set") -> dict[str, str]:
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{flag} {pair!r} is not key=value", hint=f"like {flag} key=value")
        settings[key.strip()] = value.strip()
    return settings


def _check_sasl(user: str, password: str) -> None:
    if not _USER.fullmatch(user):
        raise UsageError("--sasl: the user's name is letters, digits, '.', '_' and '-', at most 40")
    if not (password and password.isascii() and password.isprintable() and not set(password) & _NOT_IN_JAAS):
        raise UsageError("--sasl: the password is one or more printable ASCII characters, no quote and no backslash")


def _check_ensemble(spec: LabSpec) -> None:
    given = {"--controllers": spec.controllers != 1, "--combined": spec.combined}
    given |= {"--dynamic-quorum": spec.dynamic_quorum, "--no-elr": not spec.elr}
    if wrong := [option for option, used in given.items() if used]:
        raise UsageError(f"{wrong[0]} is for KRaft; this lab runs Kafka {spec.kafka} with ZooKeeper", hint=_KRAFT_HINT)
    if spec.zones:
        _check_zones(spec)
    if spec.zookeepers not in {None, 1, 3}:
        raise UsageError(f"--zookeepers {spec.zookeepers}: 1 or 3", hint="an ensemble of 2 tolerates no failure")
    if spec.chroot and not _CHROOT.fullmatch(spec.chroot):
        raise UsageError(
            f"--chroot {spec.chroot!r} is not a ZooKeeper path", hint="like /kfix, without a trailing slash"
        )


def _check_quorum(spec: LabSpec) -> None:
    given = {"--zookeepers": spec.zookeepers is not None, "--chroot": bool(spec.chroot)}
    given["--zookeeper-security"] = spec.is_keeper_secured
    if wrong := [option for option, used in given.items() if used]:
        raise UsageError(f"{wrong[0]} needs ZooKeeper; this lab runs Kafka {spec.kafka} on KRaft", hint=_ZK_HINT)
    if spec.zones:
        _check_zones(spec)
    if spec.controllers not in {1, 3}:
        raise UsageError(f"--controllers {spec.controllers}: 1 or 3", hint="a quorum of 2 tolerates no failure")
    if spec.combined and spec.controllers > len(spec.ids):
        raise UsageError(
            f"--combined with --controllers {spec.controllers} and {len(spec.ids)} brokers",
            hint="a combined controller is a broker, too: at least as many brokers",
        )
    if not spec.elr and not spec.recipe.elr:
        raise UsageError(f"--no-elr: Kafka {spec.kafka} has no eligible leader replicas", hint="omit --no-elr")


def _check_zones(spec: LabSpec) -> None:
    if spec.zones != _ZONES:
        raise UsageError(f"--zones {spec.zones}: a lab has {_ZONES} zones, or none", hint=f"--zones {_ZONES}")
    if spec.zookeepers not in {None, _ZONES}:
        raise UsageError(
            f"--zones {spec.zones} with --zookeepers {spec.zookeepers}", hint="each zone has one: omit --zookeepers"
        )
    if len(spec.ids) < _ZONES:
        raise UsageError(f"--zones {spec.zones} with {len(spec.ids)} brokers", hint=f"at least one per zone: {_ZONES}")
    if spec.racks:
        raise UsageError("--racks and --zones exclude each other", hint="with zones, the rack of a broker is its zone")


def _check_brokers(spec: LabSpec) -> None:
    if not spec.ids:
        raise UsageError("a lab needs at least one broker", hint="--brokers 3 or --ids 1001,1002,1003")
    if len(set(spec.ids)) != len(spec.ids):
        raise UsageError(f"broker ids {spec.ids} contain one id twice", hint="give every broker its own id")
    if not all(0 <= broker <= _MAX_ID for broker in spec.ids):
        raise UsageError(f"broker ids {spec.ids} are not all between 0 and {_MAX_ID}")
    if spec.racks and len(spec.racks) != len(spec.ids):
        raise UsageError(
            f"{len(spec.racks)} racks for {len(spec.ids)} brokers", hint="one rack per broker, in the order of the ids"
        )
    if spec.offsets_rf is not None and not 1 <= spec.offsets_rf <= len(spec.ids):
        raise UsageError(f"--offsets-rf {spec.offsets_rf} with {len(spec.ids)} brokers", hint=f"1 to {len(spec.ids)}")
