"""Differences between Kafka's release lines: the only module that knows them.

A rule applies to a broker, since a cluster runs two releases during an upgrade. A broker's release shows in the newest
inter.broker.protocol.version of its software and the setting itself (DescribeConfigs, up to 3.9), and in the levels of
metadata.version that it supports (ApiVersions, KRaft only). Every rule names the page of its fact, and the Kafka lines
on which it was tried: tests/cluster/test_version_rules.py tries each on all lines of the lab.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kfix.core.snapshot.quorum import METADATA_FEATURE
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL, Snapshot

Line = tuple[int, int]


@dataclass(frozen=True, slots=True)
class VersionRule:
    """A rule that brokers follow from the line `since` on, and not before.

    `level` is the lowest metadata.version of that line, and `request` the (API, version) that it was the first to
    support. `tried` are {line of the lab: whether its brokers follow the rule}.
    """

    text: str
    since: Line
    level: int
    request: tuple[int, int]
    fact: str
    tried: Mapping[str, bool]


_DESCRIBE_CLUSTER: Final = 60
CAPS_MIN_ISR: Final = VersionRule(
    text="a leader never requires more in-sync replicas than the partition has replicas",
    since=(3, 7),
    level=15,
    request=(_DESCRIBE_CLUSTER, 1),
    fact="docs/facts/defaults.md#a-minimum-above-the-number-of-replicas",
    tried=MappingProxyType(
        {"2.7.1-zk": False, "3.9.2-zk": True, "3.9.2-kraft": True, "4.3.1-kraft": True, "4.4.0-kraft": True}
    ),
)
RULES: Final = (CAPS_MIN_ISR,)
#: {line: its lowest level of metadata.version}, from `MetadataVersion` of Kafka 4.4.0, and of 3.9.2 for those below 7.
LEVELS: Final[Mapping[Line, int]] = MappingProxyType(
    {
        (3, 0): 1,
        (3, 1): 2,
        (3, 2): 3,
        (3, 3): 4,
        (3, 4): 8,
        (3, 5): 9,
        (3, 6): 12,
        (3, 7): 15,
        (3, 8): 20,
        (3, 9): 21,
        (4, 0): 22,
        (4, 1): 26,
        (4, 2): 28,
        (4, 3): 30,
        (4, 4): 31,
        (4, 5): 34,
    }
)


def line_of(version: str) -> Line | None:
    """Returns the release line of a version, (2, 7) of `2.7-IV2`; None if it is not a version."""
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})", version)
    return None if found is None else (int(found[1]), int(found[2]))


def line_of_level(level: int) -> Line | None:
    """Returns the release line that a level of metadata.version belongs to; None below 1 and for one not known here."""
    if not 1 <= level <= max(LEVELS.values()):
        return None
    return max(line for line, lowest in LEVELS.items() if lowest <= level)


class Releases:
    """The releases of the brokers, from the sources of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        configs, quorum = snapshot.broker_configs, snapshot.quorum
        self._newest = {b: line for b, c in configs.items() if (line := line_of(c.get(NEWEST_PROTOCOL, "")))}
        self._spoken = {b: line for b, c in configs.items() if (line := line_of(c.get(PROTOCOL, "")))}
        self._supported = {} if quorum is None else quorum.supported
        self._level = -1 if quorum is None else quorum.features.get(METADATA_FEATURE, -1)
        self._brokers = self._newest.keys() | self._spoken.keys() | self._supported.keys()

    @property
    def lines(self) -> Mapping[int, Line]:
        """Returns {node: the line of its software}, of brokers and controllers that show it."""
        levels = {node: line for node, level in self._supported.items() if (line := line_of_level(level))}
        return {**levels, **self._newest}

    @property
    def spoken(self) -> Mapping[int, Line]:
        """Returns {broker: the line of its inter.broker.protocol.version}; brokers of a KRaft cluster have none."""
        return self._spoken

    @property
    def level(self) -> int:
        """Returns the level of metadata.version in force, -1 if it is unknown or the cluster has none."""
        return self._level

    def follows(self, rule: VersionRule, broker: int) -> bool | None:
        """Returns whether a broker follows the rule; None if nothing shows its release.

        For no broker (-1), or one that did not answer, the brokers with a known release decide if they agree.
        """
        if self._level >= rule.level or self._spoken.get(broker, (0, 0)) >= rule.since:
            return True
        if broker in self._newest:
            return self._newest[broker] >= rule.since
        if broker in self._supported:
            return self._supported[broker] >= rule.level
        return self._agreed(rule) if broker not in self._brokers else None

    def needed(self, min_isr: int, leader: int, replicas: int) -> int:
        """Returns how many in-sync replicas this leader requires of so many with this min.insync.replicas."""
        return min(min_isr, replicas) if min_isr > replicas and self.follows(CAPS_MIN_ISR, leader) else min_isr

    def _agreed(self, rule: VersionRule) -> bool | None:
        return _agreed(self.follows(rule, broker) for broker in self._brokers)


def _agreed(values: Iterable[bool | None]) -> bool | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None
