"""The group has not lost these committed offsets: it may have committed later ones since, as a live consumer does."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.groups.positions import OFFSETS, offsets_of, read_group, shown_offsets


def _ask(args: Args, reader: ClusterReader) -> Answer:
    wanted, found = offsets_of(args), read_group(args, reader)
    kept = all(
        each is None or ((now := found.committed.get(tp)) is not None and now.offset >= each.offset)
        for tp, each in wanted.items()
    )
    observed = f"group {found.group}: {shown_offsets(found.committed)}"
    if found.unstable:
        observed += f"; an open transaction holds {', '.join(map(str, found.unstable))}"
    return judge(kept and not found.unstable, observed, f"at least {shown_offsets(wanted)}")


PROBE = Probe("offsets_at_least", "OffsetFetch returns these committed offsets, or later ones", _ask, OFFSETS)
