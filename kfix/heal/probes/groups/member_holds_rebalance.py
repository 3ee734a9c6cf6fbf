"""The group rebalances, and its coordinator may wait for this member: it is not one that has joined since.

With several such members, no client request shows which of them the coordinator waits for (KFX111).
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.group_reading import awaited
from kfix.core.wording import some
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "member": ArgKind.TEXT}
_SHOWN = 5


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found, member = reader.group_members(args.text("group")), args.text("member")
    observed, wanted = f"group {found.group} is {found.state}", f"it is rebalancing, and {member} holds it up"
    if not found.rebalances:
        return judge(False, observed, wanted)
    last = reader.last_generation(found.group)
    holding = [each.id for each in awaited(found.members, found.state, last.members, found.epoch)]
    if last.number is not None:
        observed += f" after generation {last.number}"
    if all(each.id != member for each in found.members):
        observed += f" and has no member {member}: it has left, or joined again under another id"
    elif member not in holding:
        observed += f"; {member} has joined since"
    who = "the only member that may hold it is" if len(holding) == 1 else "the members that may hold it are"
    return judge(member in holding, f"{observed}; {who} {some(holding, _SHOWN)}", wanted)


PROBE = Probe("member_holds_rebalance", "the group is rebalancing, and this member may be holding it up", _ask, _PARAMS)
