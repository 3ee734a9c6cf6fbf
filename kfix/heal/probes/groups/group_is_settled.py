"""The group does not rebalance: its coordinator answers, and the state is Stable, or Empty if no member is left.

A group that the coordinator does not know (Dead) is not settled: its name may be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found = reader.group(args.text("group"), ())
    return judge(found.state in {"Stable", "Empty"}, f"group {found.group} is {found.state}", "Stable, or Empty")


PROBE = Probe("group_is_settled", "the consumer group is Stable, or Empty", _ask, _PARAMS)
