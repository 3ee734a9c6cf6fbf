"""Where kfix keeps what it remembers: runs, locks, the last snapshots of each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kfix.errors import UsageError


def state_home(env: Mapping[str, str]) -> Path:
    """`KFIX_STATE_HOME`, else `XDG_STATE_HOME`, else `~/.local/state`; always with `kfix` below it."""
    chosen = env.get("KFIX_STATE_HOME") or env.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        base = Path(chosen).expanduser()
    except RuntimeError:
        raise UsageError("this user has no home folder to keep state in", hint="set KFIX_STATE_HOME") from None
    if not base.is_absolute():
        raise UsageError(f"the state folder {base} is not an absolute path", hint="set KFIX_STATE_HOME to one")
    return base / "kfix"
