"""The tables of the fleet store and their columns. docs/fleet-store.md is generated from these declarations.

Columns are added, never renamed, and never change their type. All integers have 64 bits, all times are UTC.
"""

from typing import Final

import pyarrow as pa

from kfix.core.failures.formulas import MIN_ISR, ORDER
from kfix.core.failures.masks import MOST_BROKERS, MOST_REPLICAS
from kfix.fleet.model.audit import ClusterRow, FindingRow
from kfix.fleet.model.scenarios import ScenarioRow
from kfix.fleet.store.fact_tables import LARGE, SMALL
from kfix.fleet.store.history_tables import EPISODES, PARTITION_CHANGES, TRANSITIONS
from kfix.fleet.store.schema import PARTITION_COLUMNS
from kfix.fleet.store.spec import TIME, Column, TableSpec, columns_of

_TEXT, _INT, _FLAG, _REAL = pa.string(), pa.int64(), pa.bool_(), pa.float64()
_CLUSTER: Final = Column("cluster", _TEXT, "the cluster's name in the inventory")
PARTITIONS: Final = TableSpec(
    "partitions",
    "one row for each partition of a collected cluster",
    (
        _CLUSTER,
        *PARTITION_COLUMNS,
    ),
)
_UNREGISTERED: Final = "not registered, or not known"
_NO_LIVENESS: Final = "no source shows which brokers are alive"
_WIDE: Final = f"more than {MOST_BROKERS} brokers or {MOST_REPLICAS} replicas of a partition"
_NOT_READ: Final = "the cluster was not read"
SNAPSHOTS: Final = TableSpec(
    "snapshots",
    "one row for each cluster of a run, read or not",
    (
        _CLUSTER,
        Column("collected", _FLAG, "the cluster was read"),
        Column("why", _TEXT, "why it was not read, in one line", "", "it was read"),
        Column("taken_at", TIME, "when reading began, by the clock of the host that read it", "UTC", _NOT_READ),
        Column("seconds", _REAL, "how long reading took", "s"),
        Column("cluster_id", _TEXT, "the cluster's own id", "", "not known"),
        Column("mode", _TEXT, "zk, kraft or unknown", "", _NOT_READ),
        Column("controller", _INT, "the controller", "broker id", "not known"),
        Column("brokers", _INT, "brokers that any source names", "brokers"),
        Column("topics", _INT, "topics", "topics"),
        Column("partitions", _INT, "partitions, the rows of the table `partitions`", "partitions"),
        Column("document", _TEXT, "the snapshot without its partitions, JSON", "", _NOT_READ),
        Column("elects_by_record", _FLAG, "a new controller reads ZooKeeper's record of partitions", "", _NO_LIVENESS),
        Column(
            "controller_bit", _INT, "`bit` of the live controller; 0 none, or not known", "mask", f"no masks; {_WIDE}"
        ),
        Column("lacks", _TEXT, "what was not read and could change a forecast, in lines", "", _NO_LIVENESS),
        Column(
            "controller_epoch",
            _INT,
            "the epoch of the controller, which each election raises; on KRaft that of the quorum",
            "epoch",
            "not known",
        ),
    ),
)
SOURCES: Final = TableSpec(
    "sources",
    "one row for each source that a cluster was asked",
    (
        _CLUSTER,
        Column("source", _TEXT, "such as `broker 2` or `zookeeper HOST:PORT`"),
        Column("ok", _FLAG, "it responded"),
        Column("error", _TEXT, "why it did not", "", "it responded"),
        Column("seconds", _REAL, "how long the response took", "s"),
    ),
)
BROKERS: Final = TableSpec(
    "brokers",
    "one row for each broker id that a source of the cluster names",
    (
        _CLUSTER,
        Column("broker", _INT, "the id", "broker id"),
        Column("host", _TEXT, "the host of its listener", "", "no source names its address"),
        Column("port", _INT, "the port of its listener", "", "no source names its address"),
        Column("rack", _TEXT, "broker.rack", "", "none, or not known"),
        Column(
            "registered",
            _FLAG,
            "it is registered in ZooKeeper",
            "",
            "ZooKeeper was not read, or the cluster runs on KRaft",
        ),
        Column("registered_ms", _INT, "since when it is registered", "ms since the epoch", _UNREGISTERED),
        Column(
            "broker_epoch",
            _INT,
            "the czxid of its registration, new after a restart",
            "zxid",
            "not registered, or not known",
        ),
        Column("responded", _FLAG, "it responded"),
        Column("controller", _INT, "the controller that it names", "broker id", "it did not respond, or names none"),
        Column("leads", _INT, "partitions that it leads", "partitions"),
        Column("preferred", _INT, "partitions of which it is the preferred leader", "partitions"),
        Column("holds", _INT, "replicas that are assigned to it", "replicas"),
        Column("configs", _TEXT, "its settings that were read, JSON", "", "not read"),
        Column("alive", _FLAG, "it is alive, as far as a failure of it can be judged", "", _NO_LIVENESS),
        Column("bit", _INT, "its bit in the masks of `partition_states`", "mask", f"no masks; {_WIDE}"),
    ),
)
TOPICS: Final = TableSpec(
    "topics",
    "one row for each topic of a collected cluster",
    (
        _CLUSTER,
        Column("topic", _TEXT, "the topic"),
        Column("partitions", _INT, "partitions", "partitions"),
        Column("replicas", _INT, "replicas of all partitions", "replicas"),
        Column("rf_min", _INT, "the smallest replication factor of a partition", "replicas"),
        Column("rf_max", _INT, "the largest replication factor of a partition", "replicas"),
        Column("min_isr", _INT, "min.insync.replicas; -1 not read", "replicas"),
        Column("internal", _FLAG, "an internal topic of Kafka"),
        Column("deleting", _FLAG, "it is being deleted"),
        Column("leaderless", _INT, "partitions that have no leader, or a dead one", "partitions"),
        Column("under_replicated", _INT, "partitions with a leader whose ISR lacks a replica", "partitions"),
        Column("under_min_isr", _INT, "partitions with a leader and too small an ISR for acks=all", "partitions"),
        Column("configs", _TEXT, "the settings that the topic overrides, JSON", "", "none, or not read"),
        Column(
            "czxid",
            _INT,
            "the transaction of ZooKeeper that created the topic, another one if it was deleted and created again",
            "zxid",
            "ZooKeeper was not read, or the cluster runs on KRaft",
        ),
        Column(
            "topic_id",
            _TEXT,
            "the topic's id, another one if it was deleted and created again",
            "",
            "no broker reports it: it is older than 2.8; or the brokers disagree",
        ),
    ),
)
GROUPS: Final = TableSpec(
    "groups",
    "one row for each consumer group that a broker of the cluster lists",
    (
        _CLUSTER,
        Column("group", _TEXT, "the group id"),
        Column("partition", _INT, "its partition of __consumer_offsets", "", "the number of partitions is not known"),
        Column("coordinator", _INT, "the broker that lists it", "broker id", "no broker lists it now"),
        Column("state", _TEXT, "its state", "", "not known"),
    ),
)
_ONLY_ACTIVE = "no active controller answered, or it does not know the node"
QUORUM: Final = TableSpec(
    "quorum",
    "one row for each node of a KRaft quorum: controllers are its voters, brokers its observers",
    (
        _CLUSTER,
        Column("node", _INT, "the id of the controller or broker", "node id"),
        Column("voter", _FLAG, "it votes, so it is a controller"),
        Column("address", _TEXT, "the listener of the controller", "", "an observer, or not known"),
        Column("active", _FLAG, "it is the active controller", "", "no active controller answered"),
        Column("answered", _FLAG, "it answered at its own listener", "", "it was not asked"),
        Column("error", _TEXT, "why it did not answer", "", "it answered, or was not asked"),
        Column("epoch", _INT, "the epoch of the quorum", "epoch", "no active controller answered"),
        Column("log_end", _INT, "the end of its metadata log", "offset", _ONLY_ACTIVE),
        Column("behind", _INT, "records that it has not fetched, up to the high watermark", "records", _ONLY_ACTIVE),
        Column("fetched_seconds", _REAL, "time since its last fetch", "seconds", _ONLY_ACTIVE),
        Column("caught_up_seconds", _REAL, "time since it last had every record", "seconds", _ONLY_ACTIVE),
    ),
)
RUNS: Final = TableSpec(
    "runs",
    "one row for each complete run",
    (
        Column("began", TIME, "when the run began", "UTC"),
        Column("ended", TIME, "when it was complete", "UTC"),
        Column("kfix", _TEXT, "the version of kfix that collected it"),
        Column("clusters", _INT, "clusters that were read", "clusters"),
        Column("failed", _INT, "clusters that were not read", "clusters"),
        Column("partitions", _INT, "partitions of all clusters", "partitions"),
        Column("manifest", _TEXT, "inputs, versions, durations and the inventory, JSON"),
    ),
)
_PLACES: Final = range(1, MOST_REPLICAS + 1)
PARTITION_STATES: Final = TableSpec(
    "partition_states",
    "one row for each distinct state of a cluster's partitions: equal ones have the same fate in any failure",
    (
        _CLUSTER,
        Column("state", _INT, "the number of the state in its cluster; -1: no source has both leader and ISR"),
        Column("partitions", _INT, "partitions in this state", "partitions"),
        Column("offsets", _INT, "of them partitions of __consumer_offsets", "partitions"),
        Column("transactions", _INT, "of them partitions of __transaction_state", "partitions"),
        Column("groups", _INT, "consumer groups, known by name, whose coordinator these are", "groups"),
        Column("judged", _FLAG, "the masks are known"),
        Column("factor", _INT, "assigned replicas", "replicas"),
        Column("replicas", _INT, "assigned replicas", "mask"),
        Column("isr", _INT, "the ISR", "mask"),
        Column("online", _INT, "replicas and leaders that can serve", "mask"),
        Column("leader", _INT, "the leader on record; 0 none", "mask"),
        Column("believed", _INT, "the leader in the controller's memory; 0 none, -1 not read", "mask"),
        Column("unclean", _INT, "unclean elections under today's controller: 1 enabled, 0 not, -1 not known"),
        Column("unclean_later", _INT, "the same under a new controller"),
        Column("elr", _INT, "eligible leader replicas; -1 not read", "mask"),
        *(Column(ORDER.format(n), _INT, f"replica {n} of the assignment; 0 none", "mask") for n in _PLACES),
        *(
            Column(MIN_ISR.format(n), _INT, f"min.insync.replicas if replica {n} leads; -1 not known", "replicas")
            for n in _PLACES
        ),
    ),
)
#: The tables that a collected run fills; `runs` is committed last.
COLLECTED: Final = (PARTITIONS, PARTITION_STATES, TOPICS, BROKERS, GROUPS, QUORUM, SOURCES, *LARGE, *SMALL, SNAPSHOTS)
FINDINGS: Final = TableSpec("findings", "one row for each finding of an audit", columns_of(FindingRow))
CLUSTERS: Final = TableSpec("clusters", "one row for each cluster of an audit, its score", columns_of(ClusterRow))
SCENARIOS: Final = TableSpec(
    "scenarios",
    "one row for each failure that an audit judged: brokers and racks, and pairs that stop more than each broker alone",
    columns_of(ScenarioRow),
)
AUDITS: Final = TableSpec(
    "audits",
    "one row for each audit",
    (
        Column("began", TIME, "when the run that it judges began", "UTC"),
        Column("ended", TIME, "when the audit was complete", "UTC"),
        Column("kfix", _TEXT, "the version of kfix that judged it"),
        Column("engine", _TEXT, "the engine that judged it"),
        Column("findings", _INT, "rows of `findings`", "findings"),
        Column("clusters", _INT, "rows of `clusters`", "clusters"),
        Column("previous_day", pa.date32(), "the audit that it was compared with", "UTC date", "there was none"),
        Column("previous_run", _TEXT, "the run of that audit", "", "there was none"),
        Column("manifest", _TEXT, "inputs, versions, durations, mutes and unread sources, JSON"),
    ),
)
#: The tables that an audit fills; `audits` is committed last.
AUDITED: Final = (FINDINGS, SCENARIOS, PARTITION_CHANGES, TRANSITIONS, EPISODES, CLUSTERS, AUDITS)
#: All tables, in the order in which a run fills them.
ALL: Final = (*COLLECTED, RUNS, *AUDITED)
