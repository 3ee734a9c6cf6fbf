"""The group has no members, so that an offset may be committed for it: its state is Empty or Dead."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found = reader.group(args.text("group"), ())
    return judge(not found.has_members, f"group {found.group} is {found.state}", "Empty or Dead: no members")


PROBE = Probe("group_is_empty", "the consumer group has no members", _ask, _PARAMS)
