"""What only the questions of a fleet need (docs/fleet-questions.md): read for a fleet store, and not by a diagnosis.

Sizes are in bytes, offsets and epochs are Kafka's, and times are milliseconds since the epoch, UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.declared import Int16, Int32
from kfix.core.snapshot.naming import TopicPartition


class EarlierEpoch(NamedTuple):
    """The records of all epochs up to this one end before the offset `end`, by the leader's log."""

    epoch: Int32
    end: int


class LeaderLog(NamedTuple):
    """The log of a partition at its leader. `earlier` are the last epochs before `epoch`, newest first.

    All numbers are -1 with `error` if it was not read.
    """

    leader: Int32
    epoch: Int32 = -1
    start: int = -1
    high_watermark: int = -1
    end: int = -1
    earlier: tuple[EarlierEpoch, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class StoredLogDir:
    """A log directory. `total` and `usable` are those of its disk, None if the broker does not report them (before
    3.3). `sizes` are those of its replicas; `error` is Kafka's, "" if the directory works.
    """

    path: str
    error: str = ""
    total: int | None = None
    usable: int | None = None
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)


class Setting(NamedTuple):
    """A setting that is not the default: `source` is `broker`, `cluster` (a dynamic default) or `file`."""

    key: str
    value: str
    source: str


class Certificate(NamedTuple):
    """The certificate that a broker shows on the listener that was read."""

    until_ms: int
    subject: str
    issuer: str


class AclRule(NamedTuple):
    """A rule of the authorizer, in the words of kafka-acls.sh. `prefixed`: of all names that begin with `name`."""

    principal: str
    host: str
    permission: str
    operation: str
    kind: str
    name: str
    prefixed: bool = False


@dataclass(frozen=True, slots=True)
class Acls:
    """Who may do what without a rule of his own.

    authorizer  whether the brokers have one: without it everyone may do everything
    rules       the rules of all principals and of clients without authentication, and those that allow everything
    covered     rules of topics, if `allow.everyone.if.no.acl.found` opens all others; None if it does not
    """

    authorizer: bool
    rules: tuple[AclRule, ...] = ()
    covered: tuple[AclRule, ...] | None = None


class ApiRange(NamedTuple):
    """The versions of an API, by its key, that a broker supports."""

    key: Int16
    oldest: Int16
    newest: Int16


#: The key of the quota that limits what a client fetches, in bytes per second and broker.
CONSUMER_RATE = "consumer_byte_rate"


class Quota(NamedTuple):
    """A quota of clients. A part of the entity is None if the quota is not about it, and "" for its default."""

    user: str | None
    client: str | None
    ip: str | None
    key: str
    value: float


class UnreadFact(NamedTuple):
    """Why a fact was not read, of one broker, or with -1 of the cluster. `fact` is the field of `FleetFacts`."""

    fact: str
    broker: Int32
    why: str


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """The facts by broker, by partition, or of the cluster; None if one of the cluster was not read.

    leader_logs   the logs of partitions at their leaders
    log_dirs      the log directories of each broker
    settings      the settings of each broker that are not the default, never a secret
    certificates  the certificate of each broker; a broker that was read without TLS has none
    acls          who may do what without a rule of his own
    apis          the versions of all APIs that each broker supports
    quotas        the quotas of clients
    unread        what was not read
    """

    leader_logs: Mapping[TopicPartition, LeaderLog] = field(default_factory=dict)
    log_dirs: Mapping[Int32, tuple[StoredLogDir, ...]] = field(default_factory=dict)
    settings: Mapping[Int32, tuple[Setting, ...]] = field(default_factory=dict)
    certificates: Mapping[Int32, Certificate] = field(default_factory=dict)
    acls: Acls | None = None
    apis: Mapping[Int32, tuple[ApiRange, ...]] = field(default_factory=dict)
    quotas: tuple[Quota, ...] | None = None
    unread: tuple[UnreadFact, ...] = ()
