"""The rows of the tables in `fact_tables`, made of a snapshot when its cluster is stored.

The small ones are part of the document that a staged cluster leaves behind, as lists in the order of the columns.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from kfix.core.derive.vantage import topics_of
from kfix.core.snapshot.fleet_facts import AclRule, Acls, FleetFacts, LeaderLog
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PartitionView, Snapshot, TopicPartition
from kfix.core.wording import several
from kfix.fleet.store.fact_tables import EPOCHS, PARTITION_LOGS, REPLICA_SIZES
from kfix.fleet.store.spec import TableSpec, rows_table

Row = tuple[Any, ...]
#: The settings that name the listeners of a broker, and their protocols.
_LISTENERS: Final = ("advertised.listeners", "listeners")
_PROTOCOLS: Final = "listener.security.protocol.map"
_KNOWN_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_EVERYONE: Final = "User:*"


def large_tables(snapshot: Snapshot, cluster: str) -> Mapping[TableSpec, Any]:
    """Returns the tables of facts with a row for each partition, sorted by topic and partition."""
    facts, taken = snapshot.fleet_facts, int(snapshot.taken_at * 1000)
    logs = (
        (cluster, *tp, *_log(log), log.error or None, taken)
        for tp, log in sorted(_logs_of(snapshot).items(), key=lambda each: each[0])
    )
    sizes = sorted(
        (cluster, *tp, broker, directory.path, size)
        for broker, directories in ({} if facts is None else facts.log_dirs).items()
        for directory in directories
        for tp, size in directory.sizes.items()
    )
    found = {PARTITION_LOGS: logs, REPLICA_SIZES: sizes}
    return {spec: rows_table(spec.file_schema, rows) for spec, rows in found.items()}


def _logs_of(snapshot: Snapshot) -> Mapping[TopicPartition, LeaderLog]:
    """Returns the logs of leaders; without facts those that a snapshot file has if all log ends were read for it.

    Such a file lacks the earlier epochs, which only the later one of two runs needs.
    """
    if snapshot.fleet_facts is not None:
        return snapshot.fleet_facts.leader_logs
    found = {}
    newest: dict[TopicPartition, PartitionView] = {}
    for view in snapshot.views.values():
        for tp, seen in view.partitions.items():
            if tp not in newest or newest[tp].leader_epoch < seen.leader_epoch:
                newest[tp] = seen
    for tp, seen in newest.items():
        end = snapshot.log_ends.get(tp, {}).get(seen.leader)
        if end is None and seen.leader in snapshot.views:
            return {}  # Only those were read that a diagnosis was in doubt about.
        if end is None or end.error:
            error = "no leader" if seen.leader < 0 else "no answer" if end is None else end.error
            found[tp] = LeaderLog(seen.leader, error=error)
            continue
        committed = snapshot.visible.get(tp, {}).get(seen.leader, -1)
        found[tp] = LeaderLog(seen.leader, seen.leader_epoch, end.start, committed, end.end)
    return found if any(not log.error for log in found.values()) else {}


def _log(log: LeaderLog) -> tuple[int | None, ...]:
    known = None if log.error else log
    ends = [] if known is None else list(chain.from_iterable(log.earlier[:EPOCHS]))
    offsets = (log.epoch, log.start, log.high_watermark, log.end)
    numbers = tuple(None if known is None or each < 0 else each for each in offsets)
    return (log.leader if log.leader >= 0 else None, *numbers, *ends, *(None,) * (2 * EPOCHS - len(ends)))


def small_rows(snapshot: Snapshot, cluster: str) -> dict[str, list[Row]]:
    """Returns {table: its rows}; {} without facts."""
    facts, logs = snapshot.fleet_facts, _logs_of(snapshot)
    if facts is None:
        whole = {log.leader: not log.error for log in logs.values() if log.leader >= 0}
        rows = [(b, read, None if read else "it did not answer") for b, read in sorted(whole.items())]
        return {"facts": [(cluster, "partition_logs", *row) for row in rows]}
    taken = int(snapshot.taken_at * 1000)
    made = {
        "log_dirs": _log_dirs(facts, taken),
        "settings": _settings(facts, snapshot),
        "listeners": _listeners(facts, snapshot, taken),
        "acls": () if facts.acls is None else _acls(facts.acls, facts, snapshot),
        "apis": ((b, *each) for b, ranges in facts.apis.items() for each in ranges),
        "group_lag": _group_lag(snapshot, taken),
        "quotas": ((q.user, q.client, q.ip, q.key, q.value) for q in facts.quotas or ()),
        "facts": _read(facts, snapshot),
    }
    return {name: [(cluster, *row) for row in rows] for name, rows in made.items()}


def rows_of(spec: TableSpec, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a small table in the document of a staged cluster."""
    for row in document.get("facts", {}).get(spec.name, ()):
        yield dict(zip(spec.file_schema.names, row, strict=True))


def _log_dirs(facts: FleetFacts, taken: int) -> Iterator[Row]:
    for broker, directories in facts.log_dirs.items():
        for each in directories:
            held = len(each.sizes), sum(each.sizes.values())
            yield broker, each.path, each.total, each.usable, *held, each.error or None, taken


def _settings(facts: FleetFacts, snapshot: Snapshot) -> Iterator[Row]:
    for broker, settings in facts.settings.items():
        newest = snapshot.broker_configs.get(broker, {}).get(NEWEST_PROTOCOL)
        yield from (("broker", str(broker), *each) for each in settings)
        if newest is not None:
            yield "broker", str(broker), NEWEST_PROTOCOL, newest, "software"
    for feature, level in sorted(({} if snapshot.quorum is None else snapshot.quorum.features).items()):
        yield "cluster", "", feature, str(level), "feature"
    for topic, own in (_topic_settings(snapshot) or {}).items():
        yield from (("topic", topic, key, value, "topic") for key, value in sorted(own.items()))


def _topic_settings(snapshot: Snapshot) -> Mapping[str, Mapping[str, str]] | None:
    """Returns what topics override, as ZooKeeper or a KRaft broker reports it; None if it was not read."""
    if snapshot.zookeeper is not None:
        return snapshot.zookeeper.topic_configs
    return None if snapshot.quorum is None else snapshot.quorum.topic_settings


def _listeners(facts: FleetFacts, snapshot: Snapshot, taken: int) -> Iterator[Row]:
    for broker, settings in facts.settings.items():
        own = {each.key: each.value for each in settings}
        named = next((own[key] for key in _LISTENERS if own.get(key)), "PLAINTEXT://:9092")
        protocols = dict(part.strip().rsplit(":", 1) for part in own.get(_PROTOCOLS, "").split(",") if ":" in part)
        certificate, at = facts.certificates.get(broker), snapshot.addresses.get(broker)
        for text in named.split(","):
            name, _, address = text.strip().partition("://")
            host, _, port = address.rpartition(":")
            protocol = protocols.get(name) or (name if name in _KNOWN_PROTOCOLS else None)
            shown = at is not None and port == str(at.port) and certificate is not None
            shows = tuple(certificate or ()) if shown else (None,) * 3
            yield broker, name, protocol, host or None, int(port) if port.isdecimal() else None, *shows, taken


def _acls(acls: Acls, facts: FleetFacts, snapshot: Snapshot) -> Iterator[Row]:
    if not acls.authorizer:
        yield _EVERYONE, "*", "allow", "all", "any", "*", False, "authorizer.class.name"
        return
    yield from ((*each, "acl") for each in acls.rules)
    own = (each.value for settings in facts.settings.values() for each in settings if each.key == "super.users")
    for principal in sorted({name.strip() for value in own for name in value.split(";") if name.strip()}):
        yield principal, "*", "allow", "all", "any", "*", False, "super.users"
    for topic in sorted(topics_of(snapshot.views)) if acls.covered is not None else ():
        if not any(_covers(rule, topic) for rule in acls.covered or ()):
            yield _EVERYONE, "*", "allow", "all", "topic", topic, False, "allow.everyone.if.no.acl.found"


def _covers(rule: AclRule, topic: str) -> bool:
    return topic.startswith(rule.name) if rule.prefixed else rule.name in {topic, "*"}


def _group_lag(snapshot: Snapshot, taken: int) -> Iterator[Row]:
    newest = {each.group: each for each in sorted(snapshot.group_readings, key=lambda each: each.taken_at)}
    for group in sorted({each.name for each in snapshot.groups if each.positioned} | newest.keys()):
        reading = newest.get(group)
        error = "not asked" if reading is None else "; ".join(map(": ".join, reading.errors.items()))
        found = None if reading is None else reading.partitions
        if found is None or reading is None or reading.left_out:
            yield group, None, 0, 0, None, 0, error or "some of its partitions are beyond the limit", taken
        by_topic: dict[str, list[Any]] = {}
        for tp, each in (found or {}).items():
            if each.committed >= 0:
                by_topic.setdefault(tp.topic, []).append(each)
        for topic, rows in sorted(by_topic.items()):
            known = [each.lag for each in rows if each.lag is not None]
            outside = sum(each.outside for each in rows)
            yield group, topic, len(rows), len(rows) - len(known), sum(known), outside, None, taken


def _read(facts: FleetFacts, snapshot: Snapshot) -> Iterator[Row]:
    """Yields what was read and what was not, of each fact, and of each broker where it is one of brokers."""
    by_broker = {
        "partition_logs": {log.leader for log in facts.leader_logs.values() if log.leader >= 0},
        "log_dirs": facts.log_dirs,
        "settings": facts.settings,
        "listeners": facts.settings,
        "certificates": facts.certificates,
        "apis": facts.apis,
    }
    of_cluster = {"acls": facts.acls, "quotas": facts.quotas, "topic_settings": _topic_settings(snapshot)}
    yield from ((fact, broker, True, None) for fact, brokers in by_broker.items() for broker in sorted(brokers))
    yield from ((fact, None, True, None) for fact, value in of_cluster.items() if value is not None)
    for each in facts.unread:
        fact = {"leader_logs": "partition_logs"}.get(each.fact, each.fact)
        yield fact, each.broker if each.broker >= 0 else None, False, each.why
        if fact == "settings":
            yield "listeners", each.broker, False, each.why
    if not facts.certificates and not any(each.fact == "certificates" for each in facts.unread):
        yield "certificates", None, False, "kfix read the brokers without TLS: no certificate was shown"
    if of_cluster["topic_settings"] is None:
        yield "topic_settings", None, False, "the settings of topics were not read"
    yield from _read_groups(snapshot)


def _read_groups(snapshot: Snapshot) -> Iterator[Row]:
    unread = {each.group: each.errors for each in snapshot.group_readings if each.partitions is None}
    known = {each.group for each in snapshot.group_readings}
    lacks = [each.name for each in snapshot.groups if each.positioned and each.name not in known]
    yield (
        "group_lag",
        None,
        snapshot.groups_complete,
        None if snapshot.groups_complete else "not all brokers list groups",
    )
    for group, why in sorted(unread.items()):
        yield "group_lag", None, False, f"{group}: {'; '.join(why.values()) or 'not read'}"
    if lacks:
        yield "group_lag", None, False, f"the offsets of {several(len(lacks), 'group')} were not asked for"
