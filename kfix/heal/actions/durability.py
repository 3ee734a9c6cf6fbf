"""Configuration keys that decide which records survive: a wrong value loses records, at once or later.

A change in the safer direction can still stop producers or fill disks, so its gate is `step`. A change in the other
direction, or in an unknown one, is `typed`. Every other key needs only the approval of the plan.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kfix.heal.model.plan import Gate

_UNLIMITED = "-1"
# What Kafka's long holds; Python itself refuses to convert thousands of digits.
_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Rule:
    """`why` states the possible loss; `safer` whether the new value keeps at least as much as the old one."""

    why: str
    safer: Callable[[str, str], bool]


def _more(old: str, new: str) -> bool:
    return _NUMBER.fullmatch(old) is not None and _NUMBER.fullmatch(new) is not None and int(new) >= int(old)


def _longer(old: str, new: str) -> bool:
    return new == _UNLIMITED or _more(old, new)


def _off(_old: str, new: str) -> bool:
    return new == "false"


def _never(_old: str, _new: str) -> bool:
    return False


_MIN_ISR = Rule("records acknowledged from then on may be on fewer disks", _more)
_UNCLEAN = Rule("a replica that is not in sync may become leader at once, and acknowledged records are lost", _off)
_CLEANUP = Rule("records that were kept so far may be deleted or compacted away", _never)
_RETENTION = Rule("records that are older or exceed the limit are deleted, even if no consumer has read them", _longer)
_TOMBSTONES = Rule("consumers that were offline longer miss deletes and keep deleted keys", _longer)
_REMOTE = Rule("segments in remote storage may be deleted", _never)
_COPIES = Rule("topics created from then on have fewer replicas", _more)

RULES: Mapping[str, Rule] = {
    "min.insync.replicas": _MIN_ISR,
    "share.coordinator.state.topic.min.isr": _MIN_ISR,
    "transaction.state.log.min.isr": _MIN_ISR,
    "unclean.leader.election.enable": _UNCLEAN,
    "cleanup.policy": _CLEANUP,
    "log.cleanup.policy": _CLEANUP,
    "retention.ms": _RETENTION,
    "retention.bytes": _RETENTION,
    "log.retention.ms": _RETENTION,
    "log.retention.minutes": _RETENTION,
    "log.retention.hours": _RETENTION,
    "log.retention.bytes": _RETENTION,
    "offsets.retention.minutes": Rule("groups that are inactive longer lose their committed offsets", _more),
    "delete.retention.ms": _TOMBSTONES,
    "log.cleaner.delete.retention.ms": _TOMBSTONES,
    "remote.storage.enable": _REMOTE,
    "remote.log.delete.on.disable": _REMOTE,
    "default.replication.factor": _COPIES,
    "offsets.topic.replication.factor": _COPIES,
    "share.coordinator.state.topic.replication.factor": _COPIES,
    "transaction.state.log.replication.factor": _COPIES,
}


def gate_of(key: str, old: str, new: str) -> Gate:
    """Returns the gate of a change. `old` is the value in force; a removed value has no known direction."""
    rule = RULES.get(key)
    if rule is None:
        return Gate.PLAN
    return Gate.STEP if rule.safer(old, new) else Gate.TYPED


def stake(key: str, old: str, new: str) -> str:
    """Returns what may be lost; it starts with "none" where nothing is."""
    if gate_of(key, old, new) is not Gate.TYPED:
        return "none: it deletes no record"
    return RULES[key].why
