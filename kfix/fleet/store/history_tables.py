"""The tables of history, which each audit fills from its run and the audits before it: `transitions` and `episodes`."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kfix.fleet.store.spec import TIME, Column, TableSpec

_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
_CLUSTER: Final = Column("cluster", _TEXT, "the cluster's name in the inventory")
_OTHER: Final = "it is about something else"
TRANSITIONS: Final = TableSpec(
    "transitions",
    "one row for each change of a cluster since the previous audit that read it",
    (
        _CLUSTER,
        Column("subject", _TEXT, "what changed: partition, topic, broker, group or cluster"),
        Column("object", _TEXT, "its name: topic-number, topic, broker id, group id, or the cluster"),
        Column(
            "kind",
            _TEXT,
            "the change: of a partition `leader`, `isr` or `replicas`; of a topic `created`, `deleted`, `recreated` or "
            "`partitions`; of a broker `restart`, `gone`, `back` or `new`; of a group `coordinator` or `state`; of a "
            "cluster `controller`",
        ),
        Column("topic", _TEXT, "the topic", "", _OTHER),
        Column("partition", _INT, "the number of the partition", "", _OTHER),
        Column("broker", _INT, "the broker; of a new leader the one before", "broker id", _OTHER),
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
