"""The run that holds the lock of a cluster, and the one wording that reports it."""

import json
from collections.abc import Mapping

from kfix.core.errors import HeldError

#: A holder that kfix writes has some 300 characters.
_LONGEST = 10_000
_BLANK: Mapping[str, str] = {}


def parse_holder(text: str | bytes) -> Mapping[str, str]:
    """Returns what the lock records about its holder; empty if it is no JSON of kfix, so that the holder is unknown."""
    try:
        data = json.loads(text[:_LONGEST])
    except (ValueError, RecursionError):
        return _BLANK
    return {k: v for k, v in data.items() if isinstance(v, str)} if isinstance(data, dict) else _BLANK


def held_error(cluster: str, holder: Mapping[str, str], *, where: str, hint: str) -> HeldError:
    """Returns the error for a cluster that another run holds; `where` replaces the host if the holder names none."""
    who = f"{holder.get('user', 'an unknown user')} (process {holder.get('pid', '?')} on {holder.get('host', where)})"
    text = (
        f"{cluster} is held by {who} since {holder.get('since', '?')}: "
        f"run {holder.get('run', '?')}, plan {holder.get('plan', '?')}; nothing was changed"
    )
    return HeldError(text, hint=hint)
