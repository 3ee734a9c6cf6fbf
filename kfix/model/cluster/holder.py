"""Who holds a cluster, and the one wording in which it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kfix.errors import HeldError

#: A holder that kfix writes has some 300 characters.
_LONGEST = 10_000
_BLANK: Mapping[str, str] = {}


def parse_holder(text: str | bytes) -> Mapping[str, str]:
    """Empty where a lock holds no JSON of ours: then somebody has it, and nobody can say who."""
    try:
        data = json.loads(text[:_LONGEST])
    except (ValueError, RecursionError):
        return _BLANK
    return {k: v for k, v in data.items() if isinstance(v, str)} if isinstance(data, dict) else _BLANK


def held_error(cluster: str, holder: Mapping[str, str], *, where: str, hint: str) -> HeldError:
    """`where` stands for a host that the holder does not name."""
    who = f"{holder.get('user', 'somebody')} (process {holder.get('pid', '?')} on {holder.get('host', where)})"
    text = (
        f"{cluster} is held by {who} since {holder.get('since', '?')}: "
        f"run {holder.get('run', '?')}, plan {holder.get('plan', '?')}; nothing was changed"
    )
    return HeldError(text, hint=hint)
