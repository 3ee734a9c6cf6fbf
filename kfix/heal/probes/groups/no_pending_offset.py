"""OffsetFetch answers with a stable offset of the group in the partition: no open transaction holds it."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, Probe

_PARAMS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, **ON_PARTITION}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    tp = args.tp()
    found = reader.group(args.text("group"), (tp,))
    stored = found.committed.get(tp)
    offset = "no committed offset" if stored is None else f"committed offset {stored.offset}"
    observed = f"group {found.group}: {tp} {'UNSTABLE_OFFSET_COMMIT' if tp in found.unstable else offset}"
    return judge(tp not in found.unstable, observed, "a stable offset, or none")


PROBE = Probe("no_pending_offset", "OffsetFetch refuses no offset of the group because of a transaction", _ask, _PARAMS)
