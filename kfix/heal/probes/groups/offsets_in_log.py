"""The offsets are within the log of their partition at its leader: from its log start to its log end offset.

A consumer with an offset outside of it applies auto.offset.reset.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.groups.positions import leader_log, offsets_of

_PARAMS: Mapping[str, ArgKind] = {"topic": ArgKind.TOPIC, "offsets": ArgKind.TEXT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    outside = []
    for tp, each in offsets_of(args).items():
        if each is not None:
            log = leader_log(tp, reader)
            if not log.start <= each.offset <= log.end:
                outside.append(f"{tp} {each.offset} (its log has {log.start} to {log.end})")
    return judge(not outside, f"outside: {', '.join(outside)}" if outside else "all are", "every offset is in the log")


PROBE = Probe("offsets_in_log", "the offsets are within the log of their partition", _ask, _PARAMS)
