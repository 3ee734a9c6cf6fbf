"""The folders of kfix: state (runs, locks, the last snapshots of each cluster) and settings (own runbooks, policy)."""

from collections.abc import Mapping
from pathlib import Path

from kfix.core.errors import UsageError


def state_home(env: Mapping[str, str]) -> Path:
    """Returns `kfix` below `KFIX_STATE_HOME`, else `XDG_STATE_HOME`, else `~/.local/state`.

    Raises UsageError if that is not an absolute path.
    """
    chosen = env.get("KFIX_STATE_HOME") or env.get("XDG_STATE_HOME") or "~/.local/state"
    return _folder(chosen, "state", "KFIX_STATE_HOME") / "kfix"


def config_home(env: Mapping[str, str]) -> Path:
    """Returns `kfix` below `XDG_CONFIG_HOME`, else `~/.config`. Raises UsageError if that is not an absolute path."""
    return _folder(env.get("XDG_CONFIG_HOME") or "~/.config", "settings", "XDG_CONFIG_HOME") / "kfix"


def _folder(chosen: str, what: str, variable: str) -> Path:
    try:
        base = Path(chosen).expanduser()
    except RuntimeError:
        raise UsageError(f"this user has no home folder for {what}", hint=f"set {variable}") from None
    if not base.is_absolute():
        raise UsageError(f"the {what} folder {base} is not an absolute path", hint=f"set {variable} to one")
    return base
