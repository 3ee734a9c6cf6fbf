"""No replica has any record with the key: whichever replica leads next, its coordinator does not read one.

Every replica compacts its own log. On Kafka 4.3.1 the leader's log was clean, and the next leader still had the record
that deletes the key, on which its load failed, too (docs/facts/consumer-groups.md).
"""

from __future__ import annotations

from kfix.heal.probes.groups.keys import key_probe

PROBE = key_probe(
    "key_is_gone",
    "no replica has a record with the key that cannot be loaded, with or without a value",
    "no record with this key, on every replica",
    lambda left: left.values + left.tombstones == 0,
)
