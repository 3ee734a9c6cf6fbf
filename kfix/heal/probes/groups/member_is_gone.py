"""The group has no member of this id. A client that was removed joins again under another id."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.wording import several
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "member": ArgKind.TEXT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found, member = reader.group_members(args.text("group")), args.text("member")
    there = any(each.id == member for each in found.members)
    observed = f"group {found.group} is {found.state}, with {several(len(found.members), 'member')}"
    return judge(not there, f"{observed}, and {'has' if there else 'not'} {member}", f"it has no member {member}")


PROBE = Probe("member_is_gone", "the consumer group no longer has this member", _ask, _PARAMS)
