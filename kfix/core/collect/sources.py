"""The sources that are read after the first answers of the brokers and ZooKeeper.

Each is one function: what it needs, which brokers it asks what, and the value of the snapshot's field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kfix.core.collect.broker import CONTROLLER_SETTINGS, FLEET_KEYS, TOPIC_KEYS, ask_topic_configs
from kfix.core.collect.group_details import (
    MOST_GROUPS,
    MOST_REBALANCING,
    Leaders,
    as_groups,
    describe_listed,
    leaders_of,
    read_group,
    read_positions,
)
from kfix.core.collect.kraft import last_answer, led_by_old_metadata, newest_of, offsets_of, read_eligible
from kfix.core.collect.logs import (
    ask_visible,
    claims,
    epochs_before,
    newly_led,
    older_epochs,
    read_epoch_ends,
    read_log_ends,
    replicas_of,
    suspicious,
)
from kfix.core.collect.offsets_log import Places, coordinators, read_logs
from kfix.core.collect.offsets_sizes import read_sizes
from kfix.core.collect.probes import read_probes, representatives
from kfix.core.collect.quorum import SOURCE as QUORUM
from kfix.core.collect.quorum import QuorumQuestion, why_unread
from kfix.core.collect.quotas import QuotasOf, does_not_catch_up, quotas_by_broker, with_quotas
from kfix.core.collect.rights import AUTHORIZER, TRANSACTION_LOG, refuse_hidden
from kfix.core.collect.source import Known, source
from kfix.core.collect.tasks import asks, by_broker, by_partition
from kfix.core.collect.transactions import (
    ask_held,
    newest_leaders,
    open_producers,
    read_transactions,
    still_held,
    why_unjudged,
)
from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of_group, segment_bytes_of
from kfix.core.derive.vantage import distinct, offsets_partitions, topics_of
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.group_reading import REBALANCING, GroupReading
from kfix.core.snapshot.quorum import ELR_FEATURE, EligibleLeaders, OldLeader, QuorumView
from kfix.core.snapshot.snapshot import (
    HIDDEN_TOPICS,
    NO_LEADER,
    TOPIC_CONFIGS,
    Assignment,
    CoordinatorProbe,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    OffsetsLog,
    PartitionView,
    TopicPartition,
)
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.fresh import read_quotas

_NOT_ASKED = (
    "not asked: a broker that has lost ZooKeeper would never answer, and would have one thread fewer for its clients"
)
_CONTROLLERS = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_Replicas = Mapping[TopicPartition, tuple[int, ...]]
_Epochs = Mapping[int, Mapping[TopicPartition, int]]
_Settings = Mapping[str, Mapping[str, str]]


@source(fills="groups")
def groups(known: Known) -> tuple[Group, ...]:
    listed = {b: each for b, each in known.listed.items() if each}
    found = known.brokers.each("groups broker", listed, describe_listed).found
    return as_groups(known.listed, {each.name: each for described in found.values() for each in described})


@source()
def newly_led_partitions(known: Known) -> _Epochs:
    """Returns {leader: {partition: its epoch before}} of partitions elected since a snapshot; sends no request."""
    return newly_led(known.options.before, known.memory.at_risk, known.record)


@source(needs=(newly_led_partitions,))
def doubtful(known: Known) -> _Replicas:
    """Returns the replicas of the partitions whose logs are read; sends no request."""
    elected = {tp for tps in known[newly_led_partitions].values() for tp in tps}
    apart = bool(known.options.vantage)
    return suspicious(known.record, known.views, known.live, apart=apart) | replicas_of(
        known.record, None if known.options.every_log_end else elected
    )


@source(fills="log_ends", needs=(doubtful,))
def log_ends(known: Known) -> Mapping[TopicPartition, Mapping[int, LogEnd]]:
    return read_log_ends(known.brokers, known[doubtful])


@source(needs=(doubtful,))
def claimed(known: Known) -> Mapping[TopicPartition, Mapping[int, int]]:
    """Returns {partition: {broker that claims leadership: leader epoch}}; sends no request."""
    return claims(known[doubtful], known.views)


@source(fills="visible", needs=(claimed, log_ends))
def visible(known: Known) -> Mapping[TopicPartition, Mapping[int, int]]:
    """Reads high watermarks after the log ends: one that is read later and is still lower is stuck."""
    led = by_broker((b, tp) for tp, leaders in known[claimed].items() for b in leaders)
    return by_partition(known.brokers.each("high watermarks broker", led, ask_visible).found)


@source(fills="epoch_ends", needs=(claimed, newly_led_partitions))
def epoch_ends(known: Known) -> Mapping[TopicPartition, EpochEnd]:
    """Asks the newer of two leaders, and new leaders, where an older epoch ended.

    A vantage asks all: another place may see a leader of that epoch.
    """
    brokers, leaders = known.brokers, known[claimed]
    found = read_epoch_ends(brokers, "epochs before broker", known[newly_led_partitions])
    found |= read_epoch_ends(brokers, "epoch ends broker", older_epochs(leaders))
    if known.options.vantage:
        before = epochs_before(leaders, known.views)
        found |= read_epoch_ends(brokers, "last epochs broker", before, earlier=True)
    return found


class _OffsetsTopic(NamedTuple):
    partitions: int
    places: Places


@source()
def offsets_topic(known: Known) -> _OffsetsTopic:
    """Returns how many partitions the topic has, and where they are; sends no request."""
    count = max(map(offsets_partitions, distinct(known.views)[0]), default=0)
    return _OffsetsTopic(count, coordinators(known.record, known.views, count))


@source(fills="probes", needs=(groups, offsets_topic))
def probes(known: Known) -> tuple[CoordinatorProbe, ...]:
    """Sends nothing if there is no offsets topic: FindCoordinator would create it."""
    count = known[offsets_topic].partitions
    names = (*(g.name for g in known[groups]), *known.memory.groups)
    return read_probes(known.brokers, representatives(names, known.options.groups, count)) if count else ()


@source(fills="offsets_logs", needs=(groups, offsets_topic, log_ends))
def offsets_logs(known: Known) -> tuple[OffsetsLog, ...]:
    """Asks after the log ends, since it may ask for more of them, as the same source of a broker."""
    places = known[offsets_topic].places
    if not places:
        return ()
    # A broker that has just lost a partition's leadership still lists its groups, and so does an isolated one.
    homes = ((TopicPartition(OFFSETS_TOPIC, partition_of_group(g.name, len(places))), g) for g in known[groups])
    listed = {tp.partition for tp, g in homes if tp in places and places[tp][0] in g.listed_by}
    requested = {partition_of_group(name, len(places)) for name in known.options.groups}
    return read_logs(known.brokers, places, listed, requested)


@source(fills="group_readings", needs=(groups, offsets_topic))
def group_readings(known: Known) -> tuple[GroupReading, ...]:
    """Reads the requested groups and some that rebalance in depth, and the offsets of the others.

    An error is part of the reading: no source of the cluster has failed.
    """
    count, places = known[offsets_topic]
    if not count:
        return ()
    rebalancing = [g.name for g in known[groups] if g.state in REBALANCING and g.name not in known.options.groups]
    in_depth = (*known.options.groups, *rebalancing[:MOST_REBALANCING])
    others = [g.name for g in known[groups] if g.positioned and g.name not in in_depth][:MOST_GROUPS]
    homes = {name: TopicPartition(OFFSETS_TOPIC, partition_of_group(name, count)) for name in others}
    coordinated = {name: places[tp][0] for name, tp in homes.items() if tp in places}
    brokers, leaders = known.brokers.aside(), partial(leaders_of, record=known.record, views=known.views)
    then = {each.group: each for each in known.memory.positions}
    found = [read_group(brokers, group, leaders) for group in in_depth]
    return (
        *(_limited(known, each, leaders) if does_not_catch_up(each, then.get(each.group)) else each for each in found),
        *read_positions(brokers, coordinated, leaders),
    )


def _limited(known: Known, reading: GroupReading, leaders: Leaders) -> GroupReading:
    """Returns the reading with the quotas of its clients. With ZooKeeper kfix reads them there: a broker would, too,
    and one that has lost ZooKeeper would never answer.
    """
    brokers, here, target = known.brokers.aside(), known.zookeeper, known.target
    ask: QuotasOf = partial(quotas_by_broker, brokers)
    if known.mode is not Mode.KRAFT:
        if here is None:
            return replace(reading, errors={**reading.errors, "group quotas": "ZooKeeper was not read"})
        connect = target.zookeeper or parse_connect(here.connect, target.zookeeper_access)
        ask = partial(read_quotas, connect, brokers.deadline)
    return with_quotas(brokers, reading, leaders(reading.partitions or ()), ask, target.security.principal)


@source()
def led_partitions(known: Known) -> Mapping[TopicPartition, PartitionView]:
    """Returns the newest metadata of each partition with a leader; none without transactions. Sends no request."""
    found = newest_leaders(distinct(known.views)[0])
    return found if any(tp.topic == TRANSACTIONS_TOPIC for tp in found) else {}


@source(needs=(led_partitions,))
def held_partitions(known: Known) -> Mapping[TopicPartition, OpenBatch]:
    """Returns the batches at last stable offsets that no new transaction holds: two or three requests per leader."""
    led = by_broker((each.leader, tp) for tp, each in known[led_partitions].items())
    answers = known.brokers.each("open transactions broker", led, ask_held).found
    return {tp: batch for found in answers.values() for tp, batch in found.items()}


@source(fills="transaction_log", needs=(offsets_logs, group_readings, led_partitions, held_partitions))
def transaction_log(known: Known) -> TransactionLog | None:
    """Reads the log between two readings of the partitions: what it does not have open then hangs."""
    held = known[held_partitions]
    producers = open_producers(known[offsets_logs], known[group_readings], known.taken_at, held.values())
    if why := why_unjudged(held, TransactionLog(unread=False)):
        known.brokers.questions.failed(TRANSACTION_LOG, why)
    if not producers:
        return None
    count = len({tp for view in known.views.values() for tp in view.partitions if tp.topic == TRANSACTIONS_TOPIC})
    log = read_transactions(known.brokers, known[led_partitions], count, producers)
    if why := why_unjudged(held, log):
        known.brokers.questions.failed(TRANSACTION_LOG, why)
    return still_held(known.brokers, known[led_partitions], held, log)


@source(needs=(log_ends, visible, epoch_ends, probes, transaction_log))
def listed_reassignments(known: Known) -> Mapping[TopicPartition, Assignment] | None:
    """Returns the reassignments that the controller of a cluster with ZooKeeper lists.

    It is asked late: if it has lost ZooKeeper, it does not answer, and its connection blocks from then on.
    """
    votes = Counter(view.controller for view in known.views.values() if view.controller >= 0)
    controller = next((broker for broker, _ in votes.most_common(1)), None)
    if known.zookeeper is not None:
        controller = known.zookeeper.controller.broker
    if known.quorum is not None or controller is None:
        return None
    return known.brokers.each("reassignments broker", {controller: None}, _ask_reassignments).found.get(controller)


def _ask_reassignments(line: BrokerConnection, _: None, deadline: Deadline) -> dict[TopicPartition, Assignment]:
    error, found = line.call(requests.list_reassignments(), deadline)
    if error:
        raise UnreachableError(f"reassignments: {name_of(error)}")
    return found


@source()
def settings(known: Known) -> tuple[_Settings, _Settings | None]:
    """Returns the effective configs of all topics, and the topics' own settings; None: unread.

    They come from the record if it has them: a broker needs 0.5 ms per topic. Only a KRaft broker is asked. With
    ZooKeeper a broker reads them from there, and while it has lost ZooKeeper, each such request blocks one of its
    request handlers for good, until no client gets an answer (tried on 2.7.1).
    """
    topics = tuple(sorted(topics_of(known.views)))
    own = known.record.topic_settings if known.record is not None else None
    if own is not None:
        defaults = next((a.configs for a in known.answers.values() if a.configs), {})
        default = {key: defaults[key] for key in TOPIC_KEYS if key in defaults}
        return {topic: default | dict(own.get(topic, {})) for topic in topics}, own
    if not topics:
        return {}, {}
    if known.mode is not Mode.KRAFT:
        known.brokers.questions.failed(TOPIC_CONFIGS, _NOT_ASKED)
        return {}, None
    ask = partial(ask_topic_configs, more=FLEET_KEYS if known.options.fleet_facts else ())
    for broker in known.brokers.lines:
        found = known.brokers.each(f"{TOPIC_CONFIGS} broker", {broker: topics}, ask).found
        if broker in found:
            effective, described, refused = found[broker]
            if refused:
                known.brokers.questions.failed(TOPIC_CONFIGS, refused)
            return effective, described
    return {}, None


@source(fills="topic_configs", needs=(settings,))
def topic_configs(known: Known) -> _Settings:
    return known[settings][0]


@source(fills="offsets_sizes", needs=(settings, offsets_topic, listed_reassignments))
def offsets_sizes(known: Known) -> tuple[OffsetsLogSize, ...]:
    """Asks late, since a slow disk keeps the connection busy. An error names the right that is missing."""
    own = (known[settings][1] or {}).get(OFFSETS_TOPIC, {})
    segment = segment_bytes_of(own.get("segment.bytes", ""))
    return read_sizes(known.brokers, known[offsets_topic].places, segment, known.target.security.principal)


@source(needs=(offsets_sizes,))
def hidden_topics(known: Known) -> None:
    """Fails for each broker with replicas of topics that its metadata leaves out.

    A cluster without an authorizer gets no request.
    """
    if any(each.configs.get(AUTHORIZER) for each in known.answers.values()):
        asked = dict.fromkeys(known.brokers.lines, topics_of(known.views))
        known.brokers.each(HIDDEN_TOPICS, asked, refuse_hidden)


@source(fills="migration")
def migration(known: Known) -> QuorumView | None:
    """Reads the quorum that the settings of the brokers name; None if ZooKeeper records no migration.

    Brokers with ZooKeeper do not know DescribeQuorum, so each controller is asked itself. A controller that does not
    respond is a fact about the migration, not a failed source.
    """
    if known.zookeeper is None or not known.zookeeper.migrating:
        return None
    answers = known.answers.values()
    configs: Mapping[str, str] = next((a.configs for a in answers if any(map(a.configs.get, _CONTROLLERS))), {})
    cluster_id = next((a.cluster_id for a in answers if a.cluster_id), "")
    return QuorumQuestion(known.target, configs, known.brokers.deadline, known.ledger, cluster_id).answer({})


@source()
def eligible(known: Known) -> Mapping[TopicPartition, EligibleLeaders]:
    """Asks the KRaft broker with the newest metadata which replicas may lead partitions without a leader."""
    newest = newest_of(known.answers) if known.quorum is not None else None
    if newest is None:
        return {}
    # Also with an ISR: a last known leader that is no replica makes the start of a broker fail (KFX120).
    partitions = known.answers[newest].view.partitions
    doubted = {tp for tp, each in partitions.items() if each.leader == NO_LEADER}
    # Half of the time remains for later requests.
    brokers = known.brokers.within(known.brokers.deadline.left / 2)
    found = read_eligible(brokers, newest, doubted)
    features = known.answers[newest].features
    if features is None or features.finalized.get(ELR_FEATURE, 0) < 1:
        return found
    # For a forecast only: no failure of a source.
    last = {tp for tp, each in partitions.items() if each.leader >= 0 and len(each.isr) == 1 < len(each.replicas)}
    return {**found, **read_eligible(brokers.aside(), newest, last)}


@source(needs=(hidden_topics,))
def old_leaders(known: Known) -> Mapping[TopicPartition, OldLeader]:
    """Asks brokers with older metadata whether they know their successors; late, when the quorum is known."""
    if known.quorum is None:
        return {}
    epochs = led_by_old_metadata(known.answers, known.quorum.seen(offsets_of(known.answers)))
    answers = known.brokers.each("old leader", epochs, asks(partial(requests.epoch_ends, current=True))).found
    return {
        tp: OldLeader(b, epochs[b][tp], name_of(end.error) if end.error else "")
        for b, ends in answers.items()
        for tp, end in ends.items()
        if tp in epochs[b]
    }


@source(fills="quorum", needs=(settings, eligible, old_leaders))
def quorum(known: Known) -> QuorumView | None:
    """Returns the answers of the controllers. It comes last: no other source waits for a controller."""
    if known.quorum is None:
        return None
    found = last_answer(known.quorum, known.answers, known.fenced)
    if why := why_unread(found):
        # A quorum that was not read is not healthy: it may be lost, and the metadata frozen (docs/facts/kraft.md).
        known.brokers.questions.failed(QUORUM, why)
    if found.read and (why := known.quorum.settings_unread(found.leader)):
        name = f"{CONTROLLER_SETTINGS} {found.leader}"
        known.brokers.questions.failed(name, why.removeprefix(f"{name}: "))
    topic_settings = known[settings][1]
    return replace(found, eligible=known[eligible], topic_settings=topic_settings, old_leaders=known[old_leaders])


@source(fills="reassignments", needs=(listed_reassignments, quorum))
def reassignments(known: Known) -> Mapping[TopicPartition, Assignment] | None:
    """Returns those of the ZooKeeper controller, or of the active controller of a quorum that was read."""
    asked, view = known.quorum, known[quorum]
    if asked is None or view is None:
        return known[listed_reassignments]
    responding = {b: known.addresses[b] for b in known.answers}
    return known.brokers.once("reassignments", lambda: asked.reassignments(view, responding))[0] if view.read else None


#: What the collector reads; the sources that these need are read with them.
SOURCES = (
    groups,
    log_ends,
    visible,
    epoch_ends,
    probes,
    offsets_logs,
    group_readings,
    transaction_log,
    topic_configs,
    offsets_sizes,
    migration,
    quorum,
    reassignments,
    hidden_topics,
)
