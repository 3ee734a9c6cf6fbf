"""The tables of what only the questions of a fleet need (docs/fleet-questions.md), with a row for each fact.

A cluster whose snapshot lacks these facts has no row in any of them, nor in `facts`: then nothing is known of it.
"""

from typing import Final

import pyarrow as pa

from kfix.fleet.store.spec import Column, TableSpec

_TEXT, _INT, _FLAG, _REAL = pa.string(), pa.int64(), pa.bool_(), pa.float64()
_CLUSTER: Final = Column("cluster", _TEXT, "the cluster's name in the inventory")
_TOPIC: Final = Column("topic", _TEXT, "the topic")
_PARTITION: Final = Column("partition", _INT, "the number of the partition")
_BROKER: Final = Column("broker", _INT, "the id of the broker", "broker id")
_TAKEN: Final = Column("taken_ms", _INT, "when reading the cluster began", "ms since the epoch")
_FAILED: Final = "it was not read"
#: How many earlier epochs of a log have columns.
EPOCHS: Final = 4
PARTITION_LOGS: Final = TableSpec(
    "partition_logs",
    "one row for each partition, the log of its leader",
    (
        _CLUSTER,
        _TOPIC,
        _PARTITION,
        Column("leader", _INT, "the leader that was asked", "broker id", "there is none"),
        Column("leader_epoch", _INT, "the leader epoch in which it answered", "epoch", _FAILED),
        Column("log_start", _INT, "the first offset that is kept", "offset", _FAILED),
        Column("high_watermark", _INT, "all records before it are committed", "offset", _FAILED),
        Column("log_end", _INT, "the offset after the last record", "offset", _FAILED),
        *(
            column
            for n in range(1, EPOCHS + 1)
            for column in (
                Column(f"earlier_epoch_{n}", _INT, f"the last epoch with records but {n}", "epoch", "there is none"),
                Column(f"earlier_end_{n}", _INT, "where the records up to that epoch end", "offset", "there is none"),
            )
        ),
        Column("error", _TEXT, "why it was not read", "", "it was read"),
        _TAKEN,
    ),
)
REPLICA_SIZES: Final = TableSpec(
    "replica_sizes",
    "one row for each replica in a log directory",
    (
        _CLUSTER,
        _TOPIC,
        _PARTITION,
        _BROKER,
        Column("directory", _TEXT, "the log directory"),
        Column("bytes", _INT, "the size of its log, a future log included", "bytes"),
    ),
)
LOG_DIRS: Final = TableSpec(
    "log_dirs",
    "one row for each log directory of a broker",
    (
        _CLUSTER,
        _BROKER,
        Column("directory", _TEXT, "its path"),
        Column("total", _INT, "the size of its disk", "bytes", "the broker does not report it: it is older than 3.3"),
        Column("usable", _INT, "the free space of its disk", "bytes", "as for `total`"),
        Column("replicas", _INT, "replicas in it", "replicas"),
        Column("bytes", _INT, "the size of their logs", "bytes"),
        Column("error", _TEXT, "Kafka's error, such as KAFKA_STORAGE_ERROR", "", "it works"),
        _TAKEN,
    ),
)
SETTINGS: Final = TableSpec(
    "settings",
    "one row for each setting of a broker or topic that is not the default, never a secret, and each feature level",
    (
        _CLUSTER,
        Column("kind", _TEXT, "broker, topic, or cluster"),
        Column("name", _TEXT, "the broker id, or the topic; empty for the cluster"),
        Column("key", _TEXT, "the setting"),
        Column("value", _TEXT, "its value"),
        Column(
            "source",
            _TEXT,
            "topic; file (server.properties), broker or cluster (dynamic settings); software: what it supports; "
            "feature: the level of a feature of KRaft",
        ),
    ),
)
LISTENERS: Final = TableSpec(
    "listeners",
    "one row for each listener of a broker, by its settings",
    (
        _CLUSTER,
        _BROKER,
        Column("name", _TEXT, "its name"),
        Column("protocol", _TEXT, "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", "", "the settings do not show it"),
        Column("host", _TEXT, "the address that clients get", "", "all addresses of the host"),
        Column("port", _INT, "its port", "", "the settings do not show it"),
        Column("certificate_until_ms", _INT, "the end of its certificate", "ms since the epoch", "it was not shown"),
        Column("certificate_of", _TEXT, "the subject of its certificate", "", "as for `certificate_until_ms`"),
        Column("certificate_by", _TEXT, "the issuer of its certificate", "", "as for `certificate_until_ms`"),
        _TAKEN,
    ),
)
ACLS: Final = TableSpec(
    "acls",
    "one row for each rule that holds for everyone, or allows everything",
    (
        _CLUSTER,
        Column("principal", _TEXT, "User:* for everyone, User:ANONYMOUS for clients without authentication"),
        Column("host", _TEXT, "the host of the client, * for all"),
        Column("permission", _TEXT, "allow or deny"),
        Column("operation", _TEXT, "such as read, write or all"),
        Column("resource_type", _TEXT, "such as topic, group or cluster; any"),
        Column("resource", _TEXT, "the name, or how it begins; * for all"),
        Column("prefixed", _FLAG, "`resource` is how the names begin"),
        Column(
            "origin",
            _TEXT,
            "acl, or the setting that has the effect of such a rule: authorizer.class.name (there is none), "
            "super.users or allow.everyone.if.no.acl.found",
        ),
    ),
)
APIS: Final = TableSpec(
    "apis",
    "one row for each API of a broker, with the versions that it supports",
    (
        _CLUSTER,
        _BROKER,
        Column("api", _INT, "the key of the API in Kafka's protocol"),
        Column("oldest", _INT, "the oldest version"),
        Column("newest", _INT, "the newest version"),
    ),
)
GROUP_LAG: Final = TableSpec(
    "group_lag",
    "one row for each topic of a consumer group",
    (
        _CLUSTER,
        Column("group_id", _TEXT, "the group"),
        Column("topic", _TEXT, "the topic", "", "the offsets of the group were not read, or it has none"),
        Column("partitions", _INT, "partitions with a committed offset", "partitions"),
        Column("unknown", _INT, "of them those whose lag is not known", "partitions"),
        Column("lag", _INT, "records that the group has not committed, in the others", "records", "as for `topic`"),
        Column("outside", _INT, "of them those whose committed offset is not in the log", "partitions"),
        Column("error", _TEXT, "why its offsets were not read", "", "they were read"),
        _TAKEN,
    ),
)
QUOTAS: Final = TableSpec(
    "quotas",
    "one row for each quota of clients",
    (
        _CLUSTER,
        Column("user_name", _TEXT, "the user; empty for the default", "", "it is not about users"),
        Column("client_id", _TEXT, "the client id; empty for the default", "", "it is not about client ids"),
        Column("ip", _TEXT, "the address; empty for the default", "", "it is not about addresses"),
        Column("key", _TEXT, "such as producer_byte_rate"),
        Column("value", _REAL, "its value", "bytes/s, percent or connections/s"),
    ),
)
FACTS: Final = TableSpec(
    "facts",
    "one row for each fact that a cluster, or one of its brokers, was asked for",
    (
        _CLUSTER,
        Column("fact", _TEXT, "the table that has it; log_dirs stands for replica_sizes, too"),
        Column("broker", _INT, "the broker that was asked", "broker id", "it is a fact of the cluster"),
        Column("was_read", _FLAG, "it was read"),
        Column("why", _TEXT, "why not", "", "it was read"),
    ),
)
#: Written with each cluster, since they have a row for each partition.
LARGE: Final = (PARTITION_LOGS, REPLICA_SIZES)
#: Made of the document of each cluster when its run is complete.
SMALL: Final = (LOG_DIRS, SETTINGS, LISTENERS, ACLS, APIS, GROUP_LAG, QUOTAS, FACTS)
