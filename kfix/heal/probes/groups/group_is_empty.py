"""The group has no members, so that an offset may be committed for it: its state is Empty or Dead."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found = reader.group(args.text("group"), ())
    return judge(not found.has_members, f"group {found.group} is {found.state}", "Empty or Dead: no members")


PROBE = Probe("group_is_empty", "the consumer group has no members", _ask, _PARAMS)
