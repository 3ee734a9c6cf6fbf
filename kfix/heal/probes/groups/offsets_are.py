"""The committed offsets of the group are these, and no open transaction holds one of them."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.groups.positions import OFFSETS, offsets_of, read_group, shown_offset, shown_offsets


def _ask(args: Args, reader: ClusterReader) -> Answer:
    wanted, found = offsets_of(args), read_group(args, reader)
    # The leader epoch and the metadata are no position.
    same = all(shown_offset(found.committed.get(tp)) == shown_offset(each) for tp, each in wanted.items())
    observed = f"group {found.group}: {shown_offsets(found.committed)}"
    if found.unstable:
        observed += f"; an open transaction holds {', '.join(map(str, found.unstable))}"
    return judge(same and not found.unstable, observed, shown_offsets(wanted))


PROBE = Probe("offsets_are", "OffsetFetch returns these committed offsets", _ask, OFFSETS)
