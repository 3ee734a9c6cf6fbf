"""The settings in force for a partition: a topic's own, or the default of the node whose value counts."""

from collections.abc import Hashable, Mapping
from typing import Final

from kfix.core.derive.elections import UNCLEAN, unclean_by_default, unclean_of
from kfix.core.derive.record import record_of
from kfix.core.derive.versions import Releases
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import NO_LEADER, TOPIC_CONFIGS, TOPIC_ZNODE, Mode, Snapshot

_MIN_ISR: Final = "min.insync.replicas"
_UNKNOWN: Final = -1


def unread_topics(snapshot: Snapshot) -> frozenset[str]:
    """Returns the topics whose settings in ZooKeeper could not be decoded."""
    failed = (source.name for source in snapshot.failed_sources)
    return frozenset(name.removeprefix(TOPIC_ZNODE) for name in failed if name.startswith(TOPIC_ZNODE))


class SettingsInForce:
    """Called with (topic, leader, replicas), returns (in-sync replicas that acks=all requires, unclean election,
    whether the latter is known).

    - The number is min.insync.replicas, or the number of replicas if that is smaller and the leader's release caps it
      (`versions`).
    - A topic's own setting wins. Without one, the leader's default counts, since each broker has its own and the leader
      decides what it accepts. Without a leader whose default was read, the strictest default of the brokers counts.
    - Unclean elections are the default of the active controller (on KRaft: `elections`).
    - A topic whose settings were not read may have its own, and nothing is known of it. An unknown number is -1. An
      unknown unclean election counts as allowed with ZooKeeper, as not allowed on KRaft.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        record = record_of(snapshot)
        failed = [source.name for source in snapshot.failed_sources]
        recorded = record.topic_settings if record is not None else None
        self._snapshot = snapshot
        self._kraft = snapshot.zookeeper is None and snapshot.cluster.mode is Mode.KRAFT
        self._controllers_default = unclean_by_default(snapshot) if self._kraft else None
        self._some_unread = any(name.startswith(TOPIC_CONFIGS) for name in failed)
        self._unread = unread_topics(snapshot)
        # The value that a broker reports may be that broker's own default: it counts only without a record.
        self._topics = snapshot.topic_configs if recorded is None else recorded
        self._brokers = {b: c for b, c in snapshot.broker_configs.items() if c}
        office = record.controller if record is not None else None
        self._elects = office.node if office is not None and office.node is not None else NO_LEADER
        self.releases = Releases(snapshot)
        self._known: dict[tuple[str, int], tuple[int, bool, bool]] = {}

    def __call__(self, topic: str, leader: int, replicas: int) -> tuple[int, bool, bool]:
        at = (topic, leader)
        if at not in self._known:
            self._known[at] = self._of(topic, leader)
        least, unclean, known = self._known[at]
        return self.releases.needed(least, leader, replicas), unclean, known

    def own(self, topic: str) -> Hashable:
        """Returns the inputs of a topic's settings besides its leader: topics with equal values have equal settings."""
        shown, own = self._snapshot.topic_configs.get(topic, {}), self._topics.get(topic, {})
        return self._is_unread(topic), *((each.get(_MIN_ISR), each.get(UNCLEAN)) for each in (shown, own))

    def _of(self, topic: str, leader: int) -> tuple[int, bool, bool]:
        if self._is_unread(topic):
            return _UNKNOWN, False, False
        numbers = [n for v in self._look_up(topic, leader, _MIN_ISR) if (n := whole_number(v)) is not None]
        least = max(numbers, default=_UNKNOWN)
        if self._kraft:
            allowed = unclean_of(topic, self._controllers_default, self._snapshot)
            return least, bool(allowed), allowed is not None
        unclean = set(self._look_up(topic, self._elects, UNCLEAN))
        return least, "true" in unclean, len(unclean) == 1

    def _is_unread(self, topic: str) -> bool:
        shown: Mapping[str, object] = self._snapshot.topic_configs
        return topic in self._unread or (self._some_unread and topic not in shown and topic not in self._topics)

    def _look_up(self, topic: str, node: int, key: str) -> list[str]:
        own = self._topics.get(topic, {}).get(key)
        if own is not None:
            return [own]
        if key in self._brokers.get(node, {}):
            return [self._brokers[node][key]]
        return [c[key] for c in self._brokers.values() if key in c]
