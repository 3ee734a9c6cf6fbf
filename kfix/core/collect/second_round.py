"""The second round of a snapshot: requests that need the brokers, topics and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kfix.core.collect.broker import TOPIC_KEYS
from kfix.core.collect.details import Details
from kfix.core.collect.group_details import MOST_GROUPS, MOST_REBALANCING, GroupQuestions, leaders_of
from kfix.core.collect.logs import newly_led, replicas_of, suspicious
from kfix.core.collect.offsets_log import coordinators
from kfix.core.collect.offsets_sizes import read_sizes
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.probes import representatives
from kfix.core.collect.tasks import Questions
from kfix.core.collect.transactions import name_producers, open_producers
from kfix.core.deadline import Deadline
from kfix.core.derive.compaction import segment_bytes_of
from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of_group
from kfix.core.derive.views import distinct, offsets_partitions
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import ListedGroup
from kfix.core.snapshot.group_reading import REBALANCING, GroupReading
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.offsets_size import OffsetsLogSize
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import (
    TOPIC_CONFIGS,
    Assignment,
    BrokerView,
    CoordinatorProbe,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    OffsetsLog,
    TopicPartition,
)
from kfix.core.snapshot.transactions import TransactionLog

_NOT_ASKED = (
    "not asked: a broker that has lost ZooKeeper would never answer, and would have one thread fewer for its clients"
)
_Settings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class SecondAnswers:
    """The answers of the round, as the fields of a snapshot."""

    groups: tuple[Group, ...]
    probes: tuple[CoordinatorProbe, ...]
    offsets_logs: tuple[OffsetsLog, ...]
    group_readings: tuple[GroupReading, ...]
    transaction_log: TransactionLog | None
    log_ends: Mapping[TopicPartition, Mapping[int, LogEnd]]
    visible: Mapping[TopicPartition, Mapping[int, int]]
    epoch_ends: Mapping[TopicPartition, EpochEnd]


@dataclass(slots=True)
class SecondRound:
    """`lines` are the connections of the brokers that answered, `views` their metadata, `record` the authority's."""

    questions: Questions
    lines: Mapping[int, BrokerConnection]
    deadline: Deadline
    options: CollectOptions
    views: Mapping[int, BrokerView]
    record: ClusterRecord | None
    _details: Details = field(init=False)
    _count: int = field(init=False)
    _places: Mapping[TopicPartition, tuple[int, tuple[int, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        self._details = Details(self.questions, self.lines, self.deadline)
        self._count = max(map(offsets_partitions, distinct(self.views)[0]), default=0)
        self._places = coordinators(self.record, self.views, self._count)

    def read(
        self,
        live: frozenset[int],
        listed: Mapping[int, tuple[ListedGroup, ...]],
        memory: Memory,
        taken_at: float,
    ) -> SecondAnswers:
        """Reads groups, logs and coordinators; `listed` are the groups by broker."""
        details, views, record, options = self._details, self.views, self.record, self.options
        groups = details.groups(listed)
        doubtful = suspicious(record, views, live, apart=bool(options.vantage))
        changed = newly_led(options.before, memory.at_risk, record)
        elected = {tp for tps in changed.values() for tp in tps}
        doubtful |= replicas_of(record, None if options.every_log_end else elected)
        # Log end offsets before high watermarks: a high watermark that is read later and is still lower is stuck.
        log_ends = details.log_ends(doubtful)
        visible, epoch_ends = details.claimed(doubtful, views, apart=bool(options.vantage))
        epoch_ends = details.epoch_ends("epochs before", changed) | epoch_ends
        # FindCoordinator would create a missing offsets topic, so it is not sent then.
        known = (*(g.name for g in groups), *memory.groups)
        probes = details.probes(representatives(known, options.groups, self._count)) if self._count else ()
        offsets_logs = self._offsets_logs(groups)
        group_readings = self._group_readings(groups) if self._count else ()
        producers = open_producers(offsets_logs, group_readings, taken_at)
        return SecondAnswers(
            groups=groups,
            probes=probes,
            offsets_logs=offsets_logs,
            group_readings=group_readings,
            transaction_log=self._transaction_log(producers),
            log_ends=log_ends,
            visible=visible,
            epoch_ends=epoch_ends,
        )

    def reassignments(self, controller: int | None) -> Mapping[TopicPartition, Assignment] | None:
        """Returns the reassignments that the controller of a cluster with ZooKeeper lists."""
        return self._details.reassignments(controller)

    def topic_configs(self, mode: Mode, defaults: Mapping[str, str]) -> tuple[_Settings, _Settings | None]:
        """Returns the effective configs of all topics, and the topics' own settings; None: unread.

        They come from the record if it has them: a broker needs 0.5 ms per topic. `defaults` are a broker's. Only a
        KRaft broker is asked. With ZooKeeper a broker reads them from there, and while it has lost ZooKeeper, each such
        request blocks one of its request handlers for good, until no client gets an answer (tried on 2.7.1).
        """
        topics = tuple(sorted({tp.topic for partitions in distinct(self.views)[0] for tp in partitions}))
        own = self.record.topic_settings if self.record is not None else None
        if own is not None:
            default = {key: defaults[key] for key in TOPIC_KEYS if key in defaults}
            return {topic: default | dict(own.get(topic, {})) for topic in topics}, own
        if not topics:
            return {}, {}
        if mode is not Mode.KRAFT:
            self.questions.failed(TOPIC_CONFIGS, _NOT_ASKED)
            return {}, None
        found = self._details.topic_configs(topics, self.deadline)
        return ({}, None) if found is None else found

    def offsets_sizes(self, own: _Settings | None, principal: str) -> tuple[OffsetsLogSize, ...]:
        """Returns the sizes of the logs of the offsets topic; `own` are the topics' own settings.

        An error names the right that `principal` lacks.
        """
        segment = segment_bytes_of((own or {}).get(OFFSETS_TOPIC, {}).get("segment.bytes", ""))
        return read_sizes(self.lines, self._places, segment, principal, self.deadline)

    def _offsets_logs(self, groups: tuple[Group, ...]) -> tuple[OffsetsLog, ...]:
        places = self._places
        if not places:
            return ()
        # A broker that has just lost a partition's leadership still lists its groups, and so does an isolated one.
        homes = ((TopicPartition(OFFSETS_TOPIC, partition_of_group(g.name, len(places))), g) for g in groups)
        listed = {tp.partition for tp, g in homes if tp in places and places[tp][0] in g.listed_by}
        requested = {partition_of_group(name, len(places)) for name in self.options.groups}
        return self._details.offsets_logs(places, listed, requested)

    def _group_readings(self, groups: tuple[Group, ...]) -> tuple[GroupReading, ...]:
        """Reads the requested groups and some that rebalance in depth, and the offsets of the others."""
        # Separate requests: their errors are part of the reading, and no source of the cluster has failed.
        asked = GroupQuestions(Questions(), self.lines, self.deadline)
        rebalancing = [g.name for g in groups if g.state in REBALANCING and g.name not in self.options.groups]
        in_depth = (*self.options.groups, *rebalancing[:MOST_REBALANCING])
        others = [g.name for g in groups if g.positioned and g.name not in in_depth][:MOST_GROUPS]

        def leaders(tps: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
            return leaders_of(tps, self.record, self.views)

        homes = {name: TopicPartition(OFFSETS_TOPIC, partition_of_group(name, self._count)) for name in others}
        coordinators = {name: self._places[tp][0] for name, tp in homes.items() if tp in self._places}
        return (*(asked.read(group, leaders) for group in in_depth), *asked.read_positions(coordinators, leaders))

    def _transaction_log(self, producers: Mapping[int, int]) -> TransactionLog | None:
        if not producers:
            return None
        tps = {tp for view in self.views.values() for tp in view.partitions if tp.topic == TRANSACTIONS_TOPIC}
        leaders = leaders_of(tps, self.record, self.views)
        return name_producers(self.lines, leaders, len(tps), producers, self.deadline)
