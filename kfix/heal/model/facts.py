"""Names of the facts that a plan rests on, such as `__consumer_offsets-26.isr` or `config:topic/orders/retention.ms`.

The name determines what to read again; `kfix.heal.probes.facts` reads it. A topic may contain dots, so the last one
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from kfix.core.args import parse_partition
from kfix.core.numbers import broker_id
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition

FactJson = int | str | bool | None | tuple[int, ...]

PARTITION_FACTS = (
    "leader",
    "leader_epoch",
    "isr",
    "live_isr",
    "assignment",
    "live_replicas",
    "reassigning",
    "partition_count",
    "log_tails",
    "adding",
    "removing",
    "replica_bytes",
    "elr",
    "last_known",
    "load_conflicts",
    "hanging",
)
#: `eligible_needed` is the number of partitions on KRaft that have eligible leader replicas outside the ISR, or no
#: leader.
#: `applied` is the metadata offset that each broker of a KRaft cluster has applied, `partitions` are replicas and ISR
#: by the newest of them; neither needs an active controller. `restart_command` and `upgrade_command` are
#: those of the inventory. `voters` are those of a KRaft quorum with the directory ids of their disks, `joining` the
#: controllers that follow as observers. `metadata_version` is the highest level in force at any node of a KRaft
#: cluster, and `supported_metadata_version` the highest that all of them support.
CLUSTER_FACTS = (
    "controller",
    "controller_epoch",
    "controller_epoch_version",
    "migrating",
    "mode",
    "eligible_needed",
    "applied",
    "partitions",
    "registered_brokers",
    "metadata_version",
    "supported_metadata_version",
    "restart_command",
    "upgrade_command",
    "voters",
    "joining",
)
#: Of the cluster, too. They change by themselves, so no plan rests on them: `start_mark` is a moment between starts.
PASSING_FACTS = ("start_mark",)
#: `registered` is whether it is alive; the others are of a KRaft cluster's record of it. `runs` is whether its process
#: runs, although it may be fenced.
_RECORDED = ("registration", "voter", "replicas", "hidden")
BROKER_FACTS = ("registered", *_RECORDED, "runs")
#: Of a broker in the snapshot of the plan, for the words of a step; no plan rests on them, since a run takes no
#: snapshot: `hung` is whether it did not answer, `only_copy` whether only its disk has some records.
SNAPSHOT_FACTS = ("hung", "only_copy")
CLUSTER = "cluster"
_BROKER, _CONFIG, _EFFECTIVE = "broker:", "config:", "effective:"
_GROUP, _MEMBER, _TRANSACTION = "group:", "member:", "transaction:"
_COPIES = "metadata_logs:"
#: `awaited` is the number of members that may hold the rebalance, and of one member whether it is one of them.
GROUP_FACTS = ("state", "generation", "awaited")
MEMBER_FACTS = ("client", "host", "instance", "awaited")


_MILLISECONDS = re.compile(r"\d{1,15}")


@dataclass(frozen=True, slots=True)
class Fact:
    """One value that the planner used. `version` is the znode's where it has one: it shows whether it was rewritten."""

    key: str
    value: FactJson
    source: str
    version: int | None = None


ReadFact = Callable[[str], Fact]
"""Reads a fact fresh or raises UnreachableError; every fact read through it joins the read set."""


@dataclass(frozen=True, slots=True)
class FactKey:
    """The parts of a fact's name. At most one of `tp`, `broker` and `resource` is given; none means the whole cluster.

    With `group`, the fact is the committed offset of the partition, or one of the group or, with `member`, of a member.
    `folders` are log directories of this host, separated by commas, and the fact is the metadata logs in them.
    With `transaction`, a transactional.id, it is its last state since the time `name`, in milliseconds. `own` is False
    for the value in force, wherever it is set.
    """

    owner: str
    name: str
    tp: TopicPartition | None = None
    broker: int | None = None
    resource: tuple[ResourceKind, str] | None = None
    own: bool = True
    group: str = ""
    member: str = ""
    transaction: str = ""
    folders: str = ""

    @property
    def words(self) -> str:
        if self.transaction:
            return "state"
        if self.folders:
            return "copies"
        if self.group and self.tp is not None:
            return f"committed offset of {self.tp}"
        if self.resource is None:
            return re.sub(r"\bisr\b|\belr\b", lambda m: m[0].upper(), self.name.replace("_", " "))
        return f"{self.name} {'set here' if self.own else 'in force'}"


def about(tp: TopicPartition, *names: str) -> tuple[str, ...]:
    for name in names:
        if name not in PARTITION_FACTS:
            raise ValueError(f"there is no fact {name!r} about a partition")
    return tuple(f"{tp}.{name}" for name in names)


def about_cluster(*names: str) -> tuple[str, ...]:
    for name in names:
        if name not in (*CLUSTER_FACTS, *PASSING_FACTS):
            raise ValueError(f"there is no fact {name!r} about a cluster")
    return tuple(f"{CLUSTER}.{name}" for name in names)


def about_brokers(*brokers: int, name: str = "registered") -> tuple[str, ...]:
    """Returns one fact of each of these brokers."""
    if name not in (*BROKER_FACTS, *SNAPSHOT_FACTS):
        raise ValueError(f"there is no fact {name!r} about a broker")
    return tuple(f"{_BROKER}{broker}.{name}" for broker in brokers)


def about_registration(broker: int) -> tuple[str, ...]:
    """Returns the facts of a broker id in the record of a KRaft cluster."""
    return tuple(key for name in _RECORDED for key in about_brokers(broker, name=name))


def about_config(kind: ResourceKind, name: str, *keys: str) -> tuple[str, ...]:
    """Returns the facts of the resource's own value of each key: absent where a default is in force."""
    return tuple(f"{_CONFIG}{kind.value}/{name}/{key}" for key in keys)


def about_effective(kind: ResourceKind, name: str, *keys: str) -> tuple[str, ...]:
    """Returns the facts of the value in force of each key, the resource's own or a default."""
    return tuple(f"{_EFFECTIVE}{kind.value}/{name}/{key}" for key in keys)


def about_group(group: str, tp: TopicPartition) -> str:
    """Returns the fact of the group's committed offset: text as `StoredOffset.text`, absent where none is committed."""
    return f"{_GROUP}{quote(group, safe='')}/{tp}"


def about_rebalance(group: str, *names: str) -> tuple[str, ...]:
    """Returns facts of a group: its state, its last generation, and how many members may hold its rebalance."""
    for name in names:
        if name not in GROUP_FACTS:
            raise ValueError(f"there is no fact {name!r} about a group")
    return tuple(f"{_GROUP}{quote(group, safe='')}.{name}" for name in names)


def about_member(group: str, member: str, *names: str) -> tuple[str, ...]:
    """Returns facts of one member of a group, each absent if the group does not have it."""
    for name in names:
        if name not in MEMBER_FACTS:
            raise ValueError(f"there is no fact {name!r} about a member")
    return tuple(f"{_MEMBER}{quote(group, safe='')}/{quote(member, safe='')}.{name}" for name in names)


def about_transaction(transactional_id: str, since_ms: int) -> str:
    """Returns the fact of the last state since this time: text as `TransactionState.text`, absent without a record."""
    return f"{_TRANSACTION}{quote(transactional_id, safe='')}/{since_ms}"


def about_copies(folders: str) -> str:
    """Returns the fact of the metadata logs in these log directories: text as `copies_text`."""
    return f"{_COPIES}{folders}"


def split_key(key: str) -> FactKey:
    """Reads a fact's name; raises ValueError where no such fact exists."""
    if key.startswith((_COPIES, _TRANSACTION)):
        return _of_copies_or_transaction(key)
    if key.startswith((_GROUP, _MEMBER)):
        return _of_group(key)
    if key.startswith((_CONFIG, _EFFECTIVE)):
        prefix, _, path = key.partition(":")
        kind, _, rest = path.partition("/")
        name, slash, config = rest.partition("/")
        if kind not in tuple(ResourceKind) or not name or not slash or not config:
            raise ValueError(f"there is no fact {key!r}")
        return FactKey(f"{kind} {name}", config, resource=(ResourceKind(kind), name), own=f"{prefix}:" == _CONFIG)
    owner, _, name = key.rpartition(".")
    if owner == CLUSTER and name in (*CLUSTER_FACTS, *PASSING_FACTS):
        return FactKey(owner, name)
    broker = broker_id(owner.removeprefix(_BROKER))
    if owner.startswith(_BROKER) and name in (*BROKER_FACTS, *SNAPSHOT_FACTS) and broker is not None:
        return FactKey(f"broker {broker}", name, broker=broker)
    if name not in PARTITION_FACTS:
        raise ValueError(f"there is no fact {key!r}")
    return FactKey(owner, name, tp=parse_partition(owner))


def _of_copies_or_transaction(key: str) -> FactKey:
    if key.startswith(_COPIES):
        folders = key.removeprefix(_COPIES)
        return FactKey(f"metadata logs in {folders}", "copies", folders=folders)
    name, slash, since = key.removeprefix(_TRANSACTION).partition("/")
    if not name or not slash or not _MILLISECONDS.fullmatch(since):
        raise ValueError(f"there is no fact {key!r}")
    return FactKey(f"transaction of {unquote(name)}", since, transaction=unquote(name))


def _of_group(key: str) -> FactKey:
    path, _, name = key.rpartition(".")
    quoted, slash, rest = path.partition(":")[2].partition("/")
    group = unquote(quoted)
    if key.startswith(_MEMBER) and group and rest and name in MEMBER_FACTS:
        return FactKey(f"member {unquote(rest)} of group {group}", name, group=group, member=unquote(rest))
    if key.startswith(_GROUP) and group and not slash and name in GROUP_FACTS:
        return FactKey(f"group {group}", name, group=group)
    quoted, slash, partition = key.partition(":")[2].partition("/")
    if key.startswith(_MEMBER) or not quoted or not slash:
        raise ValueError(f"there is no fact {key!r}")
    return FactKey(f"group {unquote(quoted)}", "committed", tp=parse_partition(partition), group=unquote(quoted))


def brokers(fact: Fact) -> tuple[int, ...]:
    """Returns the value of a fact that lists brokers; empty where its subject does not exist."""
    return fact.value if isinstance(fact.value, tuple) else ()


def count(fact: Fact) -> int:
    """Returns the value of a fact that counts something. Raises TypeError for another one, a mistake in kfix."""
    if type(fact.value) is not int:
        raise TypeError(f"{fact.key} is no number: {fact.value!r}")
    return fact.value


def fact_lines(facts: Iterable[Fact]) -> list[str]:
    """Returns one line per partition or other owner of facts."""
    owners: dict[str, list[str]] = {}
    for fact in facts:
        parts = split_key(fact.key)
        owners.setdefault(parts.owner, []).append(f"{parts.words} {show_value(fact.value)}")
    return [f"{owner}: {', '.join(words)}" for owner, words in owners.items()]


def show_value(value: FactJson) -> str:
    if value is None:
        return "absent"
    if isinstance(value, tuple):
        return "[" + ",".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
