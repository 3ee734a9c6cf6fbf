"""The topic's own settings of compaction are these; `(absent)` means that it has none."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.configs.resource import own_texts

#: {argument: key of a topic}.
KEYS: Mapping[str, str] = {
    "segment_ms": "segment.ms",
    "dirty_ratio": "min.cleanable.dirty.ratio",
    "most_lag": "max.compaction.lag.ms",
    "least_lag": "min.compaction.lag.ms",
    "delete_retention": "delete.retention.ms",
}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    wanted = tuple(args.text(name) for name in KEYS)
    found = own_texts(reader, ResourceKind.TOPIC, args.text("topic"), tuple(KEYS.values()))
    return judge(found == wanted, _shown(found), _shown(wanted))


def _shown(values: tuple[str, ...]) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(KEYS.values(), values, strict=True))


PROBE = Probe(
    "compaction_is",
    "the topic's own settings of compaction are these",
    _ask,
    {"topic": ArgKind.TOPIC, **dict.fromkeys(KEYS, ArgKind.TEXT)},
)
