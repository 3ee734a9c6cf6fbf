"""The settings of a topic that make the log cleaner compact it at once."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind
from kfix.heal.probes.configs import COMPACTION

#: A segment ends after a second, and what is in a segment that has ended is compacted, tombstones too.
AT_ONCE = ("1000", "0.0", "1000", "0", "0")
TOPIC: Mapping[str, ArgKind] = {"topic": ArgKind.TOPIC}
VALUES: Mapping[str, ArgKind] = dict.fromkeys(COMPACTION, ArgKind.TEXT)
BEFORE: Mapping[str, ArgKind] = {f"{name}_before": ArgKind.TEXT for name in COMPACTION}
