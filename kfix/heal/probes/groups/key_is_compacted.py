"""No replica has a record with the key and a value; the one that deleted it may still be there."""

from __future__ import annotations

from kfix.heal.probes.groups.keys import key_probe

PROBE = key_probe(
    "key_is_compacted",
    "no replica has a record with a value and the key that cannot be loaded",
    "no record with this key and a value, on every replica",
    lambda left: left.values == 0,
)
