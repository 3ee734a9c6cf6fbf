"""What a site and a user bring along: runbooks of their own, a policy, the folder of runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.errors import UsageError

if TYPE_CHECKING:
    from kfix.model.args import Args
    from kfix.model.runbook import Runbook
    from kfix.runbook.policy import Policy
    from kfix.runbook.store import RunStore


def own_runbooks() -> Path | None:
    """The user's folder. One that was named must be there; the usual one may be absent."""
    named = os.environ.get("KFIX_RUNBOOKS")
    if named:
        return Path(named)
    usual = _config("runbooks")
    return usual if usual is not None and usual.is_dir() else None


def load(name: str, site: Path | None) -> Runbook:
    from kfix.runbook import catalogue

    return catalogue.load(name, site, own_runbooks())


def load_or_file(text: str, site: Path | None) -> Runbook:
    """A name of the catalogue, or a file: what ends in .yaml, or has a slash, is one."""
    from kfix.runbook.load import load_file

    if text.endswith((".yaml", ".yml")) or os.sep in text:
        return load_file(Path(text))
    return load(text, site)


def policy(named: Path | None) -> Policy:
    """A policy that was named must be there; the usual one may be absent."""
    from kfix.runbook.policy import NO_POLICY

    path = named
    if path is None:
        usual = _config("policy.yaml")
        if usual is None or not os.path.lexists(usual):
            return NO_POLICY
        path = usual
    from kfix.runbook.policyfile import load_policy

    return load_policy(path)


def params(runbook: Runbook, given: list[str]) -> Args:
    from kfix.runbook.params import parse_params

    for text in given:
        utf8("--param", text)
    return parse_params(runbook, given)


def utf8(option: str, text: str) -> str:
    """Bytes of the command line that are no text would be found out only when they are written down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{option} {text!a} is not UTF-8 text") from None
    return text


def store() -> RunStore:
    from kfix.model.places import state_home
    from kfix.runbook.store import RunStore

    return RunStore(state_home(os.environ))


def codes() -> frozenset[str]:
    """Every code a diagnosis can give: a runbook for another one would never be used."""
    from kfix_diagnostics import ALL

    return frozenset(check.code for check in ALL)


def _config(name: str) -> Path | None:
    """None where this user has no such folder at all: nobody has to have one."""
    from kfix.model.places import config_home

    try:
        return config_home(os.environ) / name
    except UsageError:
        return None
