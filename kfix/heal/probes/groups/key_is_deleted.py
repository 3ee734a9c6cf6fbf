"""On every replica, the last record with the key has no value: the next compaction removes those before it."""

from __future__ import annotations

from kfix.heal.probes.groups.keys import key_probe

PROBE = key_probe(
    "key_is_deleted",
    "on every replica, the last record with the key that cannot be loaded has no value",
    "a record without a value is the last one with this key, on every replica",
    lambda left: left.deleted,
)
