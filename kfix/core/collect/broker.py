"""The requests to one broker, or one controller, for a snapshot, over its own connection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.api import Request
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import GROUP_TYPES, ListedGroup
from kfix.core.kafka.kraft_messages import Features, describe_features
from kfix.core.kafka.metadata import WITH_IDS, MetadataResponse, Shared
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL, BrokerView
from kfix.core.timing import Deadline
from kfix.core.wording import several

#: The broker configs that the diagnostics and the audit use; they include the address of ZooKeeper.
BROKER_KEYS = (
    "authorizer.class.name",
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "broker.heartbeat.interval.ms",
    "broker.rack",
    "broker.session.timeout.ms",
    "controlled.shutdown.enable",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "default.replication.factor",
    "delete.topic.enable",
    PROTOCOL,
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "log.cleaner.enable",
    "log.message.format.version",
    "log.retention.bytes",
    "log.retention.hours",
    "log.retention.ms",
    "message.max.bytes",
    "min.insync.replicas",
    "num.partitions",
    "num.replica.fetchers",
    "offsets.retention.minutes",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "process.roles",
    "replica.fetch.max.bytes",
    "replica.lag.time.max.ms",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "unclean.leader.election.enable",
    "zookeeper.connect",
    "zookeeper.metadata.migration.enable",
    "zookeeper.session.timeout.ms",
)
#: UNKNOWN_TOPIC_OR_PARTITION: the topic was deleted meanwhile.
_UNKNOWN_TOPIC = 3
TOPIC_KEYS = ("min.insync.replicas", "unclean.leader.election.enable")
#: Settings that matter only if a topic itself has them, in addition to those above.
_OWN_KEYS = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "cleanup.policy",
    "segment.bytes",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
)
#: Settings of topics that the questions of a fleet use, too.
FLEET_KEYS = (
    "compression.type",
    "max.message.bytes",
    "message.format.version",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
)
#: The source of a topic's own setting in DescribeConfigs.
_OF_THE_TOPIC = 1


@dataclass(frozen=True, slots=True)
class BrokerAnswers:
    """The responses of one broker. `groups` is None if it refused to list them; `problems` lists refused parts.

    `features` was read before the metadata; None if it was not requested, as in ZooKeeper mode.
    """

    view: BrokerView
    cluster_id: str
    configs: dict[str, str]
    groups: tuple[ListedGroup, ...] | None
    problems: tuple[str, ...]
    features: Features | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def ask_brokers(connection: BrokerConnection, deadline: Deadline) -> MetadataResponse:
    """Returns cluster id and brokers, without partitions."""
    return connection.call(requests.metadata(()), deadline)


def ask_configs(connection: BrokerConnection, broker: int, deadline: Deadline) -> Mapping[str, str]:
    """Returns the configs of a broker; empty if it refuses."""
    described = connection.call(_configs_of(broker), deadline)
    return next((_settings(c) for c in described if not c.error), {})


def _configs_of(broker: int) -> Request[list[requests.DescribedConfig]]:
    return requests.describe_configs(requests.BROKER_RESOURCE, (str(broker),), BROKER_KEYS, synonyms=True)


def _settings(response: requests.DescribedConfig) -> dict[str, str]:
    newest = response.defaults.get(PROTOCOL)
    return response.values if newest is None else response.values | {NEWEST_PROTOCOL: newest}


def as_view(broker: int, response: MetadataResponse) -> BrokerView:
    return BrokerView(broker, response.controller, response.brokers, response.racks, response.partitions)


def ask_broker(
    connection: BrokerConnection, broker: int, deadline: Deadline, shared: Shared, *, kraft: bool = False
) -> BrokerAnswers:
    typed = connection.supports(group_messages.LIST_GROUPS, GROUP_TYPES, deadline)
    asked: list[Request[Any]] = [
        *([describe_features()] if kraft else []),
        requests.metadata(shared=shared, ids=connection.supports(requests.METADATA, WITH_IDS, deadline)),
        _configs_of(broker),
        group_messages.list_groups(typed=typed),
    ]
    *features, response, described, (error, groups) = connection.call_many(asked, deadline)
    problems = []
    config = next(iter(described), None)
    if config is None or config.error:
        problems.append(f"configs of broker {broker}: {name_of(config.error) if config else 'empty response'}")
    if error:
        problems.append(f"groups on broker {broker}: {name_of(error)}")
    return BrokerAnswers(
        view=as_view(broker, response),
        cluster_id=response.cluster_id,
        configs=_settings(config) if config else {},
        groups=None if error else tuple(groups),
        problems=tuple(problems),
        features=features[0] if features else None,
        topic_ids=response.topic_ids,
    )


def topic_ids(answers: Iterable[BrokerAnswers]) -> dict[str, str]:
    """Returns the ids on which all brokers agree: one that lags may still know a topic that was deleted."""
    found: dict[str, set[str]] = {}
    for each in answers:
        for topic, name in each.topic_ids.items():
            found.setdefault(topic, set()).add(name)
    return {topic: next(iter(names)) for topic, names in sorted(found.items()) if len(names) == 1}


def ask_topic_configs(
    connection: BrokerConnection, topics: tuple[str, ...], deadline: Deadline, more: tuple[str, ...] = ()
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]], str]:
    """Returns the effective topic configs, the topics' own configs, and why some are missing.

    A default is the broker's. `more` are settings that are asked for besides those that checks use.
    """
    request = requests.describe_configs(requests.TOPIC_RESOURCE, topics, (*TOPIC_KEYS, *_OWN_KEYS, *more))
    described = connection.call(request, deadline)
    refused = _refused([c for c in described if c.error not in {0, _UNKNOWN_TOPIC}])
    described = [c for c in described if not c.error]
    effective = {c.name: {key: c.values[key] for key in TOPIC_KEYS if key in c.values} for c in described}
    own = {c.name: {k: v for k, v in c.values.items() if c.sources.get(k) == _OF_THE_TOPIC} for c in described}
    return effective, {topic: values for topic, values in own.items() if values}, refused


def _refused(topics: Sequence[requests.DescribedConfig]) -> str:
    """Returns the first of the errors, and how many other topics have one; "" if there is none."""
    if not topics:
        return ""
    more = f" (and {several(len(topics) - 1, 'other topic')})" if len(topics) > 1 else ""
    return f"{topics[0].name}: {name_of(topics[0].error)}{more}"


# The settings of a KRaft controller that decide elections, read at its own listener (docs/facts/kraft.md).
#
# A broker answers with its own settings and defaults, which decide no election.

#: Start of the source's name if a controller refused them.
CONTROLLER_SETTINGS = "settings of controller"
_CONTROLLER_KEYS = ("min.insync.replicas", UNCLEAN)


def ask_controller_settings(line: BrokerConnection, node: int, deadline: Deadline) -> dict[str, str]:
    """Returns {key: value in force, including dynamic defaults}; empty before KIP-919, which added the request.

    Raises UnreachableError if the controller refuses, or is another node.
    """
    if not line.supports(requests.DESCRIBE_CONFIGS, 1, deadline):
        return {}
    request = requests.describe_configs(requests.BROKER_RESOURCE, (str(node),), _CONTROLLER_KEYS)
    described = line.call(request, deadline)
    if not described or described[0].error:
        raise UnreachableError(name_of(described[0].error) if described else "an empty response")
    return dict(described[0].values)
