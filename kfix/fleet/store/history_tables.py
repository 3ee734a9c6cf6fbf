"""The tables of history, which each audit fills from its run and the audits before it: `partition_changes`,
`transitions` and `episodes`. `kfix fleet ingest` adds what `kfix watch` recorded to `partition_changes`.
"""

from typing import Final

import pyarrow as pa

from kfix.fleet.store.spec import INTS, TIME, Column, TableSpec

_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
_CLUSTER: Final = Column("cluster", _TEXT, "the cluster's name in the inventory")
_OTHER: Final = "it is about something else"
_UNKNOWN: Final = "no source shows it, or the partition was deleted"
_NONE_BEFORE: Final = "there was none, or it is not known"
#: Why a state is recorded: the first snapshot of its cluster has it, or the first one after snapshots that are gone;
#: its topic or partition is new, another one of the same name, or gone; or what of it differs from the state before.
FIRST, SEEN, CREATED, RECREATED, DELETED = "first", "seen", "created", "recreated", "deleted"
LEADER, REPLICAS, ISR, EPOCH, LOST, FOUND = "leader", "replicas", "isr", "epoch", "unknown", "known"
#: Who saw a state.
BY_SNAPSHOT, BY_WATCH = "snapshot", "watch"
PARTITION_CHANGES: Final = TableSpec(
    "partition_changes",
    "one row for each state of a partition that differs from the one before",
    (
        _CLUSTER,
        Column("topic", _TEXT, "the topic"),
        Column("topic_id", _TEXT, "the topic's id", "", "no broker reports it: it is older than 2.8; or it is gone"),
        Column("partition", _INT, "the number of the partition"),
        Column("valid_from_after", TIME, "the state began then or later", "UTC", "not known"),
        Column(
            "valid_from",
            TIME,
            "the state began then or earlier; equal to `valid_from_after` where ZooKeeper recorded the time",
            "UTC",
        ),
        Column("leader", _INT, "the leader, -1 for none", "broker id", _UNKNOWN),
        Column("epoch", _INT, "the leader epoch", "epoch", _UNKNOWN),
        Column("isr", INTS, "the ISR", "broker ids", _UNKNOWN),
        Column(
            "elr",
            INTS,
            "the eligible leader replicas (KIP-966)",
            "broker ids",
            "not asked: the partition has a leader or an ISR, or the cluster does not run on KRaft",
        ),
        Column("replicas", INTS, "assigned replicas, the preferred leader first", "broker ids", _UNKNOWN),
        Column(
            "version", _INT, "the version of ZooKeeper's record", "writes", "there is no record, or it was not read"
        ),
        Column("leader_before", _INT, "the leader before", "broker id", _NONE_BEFORE),
        Column("epoch_before", _INT, "the leader epoch before", "epoch", _NONE_BEFORE),
        Column("isr_before", INTS, "the ISR before", "broker ids", _NONE_BEFORE),
        Column("replicas_before", INTS, "the replicas before", "broker ids", _NONE_BEFORE),
        Column("version_before", _INT, "the version before", "writes", _NONE_BEFORE),
        Column(
            "why",
            _TEXT,
            f"the most important difference: `{CREATED}`, `{RECREATED}`, `{DELETED}`, `{LEADER}`, `{REPLICAS}`, "
            f"`{ISR}` or `{EPOCH}`; `{LOST}` if no source shows the leader any more, `{FOUND}` if one does again; "
            f"`{FIRST}` in the first snapshot of a cluster, `{SEEN}` in the first one after snapshots that are gone",
        ),
        Column("source", _TEXT, f"who saw it: `{BY_SNAPSHOT}` (an audit) or `{BY_WATCH}` (kfix watch)"),
        Column("record", _INT, "the number of the record of `kfix watch`", "", "it is of a snapshot"),
    ),
)
TRANSITIONS: Final = TableSpec(
    "transitions",
    "one row for each change of a cluster, but for those of its partitions, since the previous audit that read it",
    (
        _CLUSTER,
        Column("subject", _TEXT, "what changed: topic, broker, group or cluster"),
        Column("object", _TEXT, "its name: topic, broker id, group id, or the cluster"),
        Column(
            "kind",
            _TEXT,
            "the change: of a topic `created`, `deleted`, `recreated` or `partitions`; of a broker `restart`, `gone`, "
            "`back` or `new`; of a group `coordinator` or `state`; of a cluster `controller`",
        ),
        Column("broker", _INT, "the broker", "broker id", _OTHER),
        Column("rack", _TEXT, "the rack of the broker", "", "not known, or it is no broker"),
        Column("before", _TEXT, "the value in the previous audit", "", "there was none"),
        Column("after", _TEXT, "the value in this audit", "", "there is none"),
        Column("times", _INT, "how often it changed, at least, by what both audits read", "changes"),
        Column("previous_day", pa.date32(), "the run that it is compared with", "UTC date"),
        Column("previous_run", _TEXT, "the name of that run"),
        Column("seconds", _INT, "from the start of that run to the start of this one", "s"),
    ),
)
EPISODES: Final = TableSpec(
    "episodes",
    "one row for each episode of a finding that is open in an audit, or ended with it",
    (
        _CLUSTER,
        Column("key", _TEXT, "the finding, the same in every audit: CODE:object"),
        Column("code", _TEXT, "the check: kfix explain CODE"),
        Column("owner", _TEXT, "the owner of the cluster"),
        Column("version", _TEXT, "inter.broker.protocol.version of most brokers, empty if it is not known"),
        Column("prevention", _FLAG, "a latent risk"),
        Column("muted", _FLAG, "a mute of the inventory covers it"),
        Column("began", TIME, "the start of the first run whose audit found it", "UTC"),
        Column(
            "not_before", TIME, "the last run before that whose audit read the whole cluster", "UTC", "there is none"
        ),
        Column("last_seen", TIME, "the last run whose audit found it", "UTC"),
        Column("ended", TIME, "this run, if its audit found it fixed", "UTC", "it has not ended"),
        Column("unknown", _FLAG, "unknown in this audit: the cluster, or a source of it, was not read"),
        Column("audits", _INT, "audits that found it", "audits"),
        Column("unread", _INT, "audits since it began in which it was unknown", "audits"),
        Column("worst", _INT, "the highest severity so far: 0, 1 or 2"),
        Column("partitions", _INT, "partitions that it was last about", "partitions"),
        Column("peak_partitions", _INT, "the most partitions that it was about", "partitions"),
    ),
)
