"""What a site and a user bring along: runbooks of their own, a policy, the folder of runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kfix.errors import UsageError
from kfix.model.places import config_home, state_home
from kfix.model.plan.runbook import Runbook
from kfix.runbook.file import catalogue
from kfix.runbook.file.load import load_file
from kfix.runbook.journal.runs import RunStore
from kfix.runbook.policy.policy import NO_POLICY, Policy


@dataclass(frozen=True, slots=True)
class Site:
    environ: Mapping[str, str]

    def own_runbooks(self) -> Path | None:
        """Returns the user's folder. One that was named must be there; the usual one may be absent."""
        named = self.environ.get("KFIX_RUNBOOKS")
        if named:
            return Path(named)
        usual = self._config("runbooks")
        return usual if usual is not None and usual.is_dir() else None

    def load(self, name: str, folder: Path | None = None) -> Runbook:
        """Returns a runbook of the catalogue. The site's `folder` goes before the user's own, that before kfix's."""
        return catalogue.load(name, folder, self.own_runbooks())

    def load_or_file(self, text: str, folder: Path | None = None) -> Runbook:
        """As `load`; what ends in .yaml, or has a slash, is a file."""
        if text.endswith((".yaml", ".yml")) or os.sep in text:
            return load_file(Path(text))
        return self.load(text, folder)

    def load_all(self, folder: Path | None = None) -> tuple[Runbook, ...]:
        return tuple(catalogue.load_all(folder, self.own_runbooks()))

    def files(self, folder: Path | None = None) -> Mapping[str, Path]:
        """Returns {name: file} of every runbook that `load` would find."""
        return catalogue.files(folder, self.own_runbooks())

    def policy(self, named: Path | None = None) -> Policy:
        """Returns the site's policy. One that was named must be there; the usual one may be absent."""
        path = named
        if path is None:
            usual = self._config("policy.yaml")
            if usual is None or not os.path.lexists(usual):
                return NO_POLICY
            path = usual
        # A policy is YAML that pydantic checks: 0.1 s that only a site with a policy pays.
        from kfix.runbook.policy.policyfile import load_policy  # noqa: PLC0415

        return load_policy(path)

    def store(self) -> RunStore:
        return RunStore(state_home(self.environ))

    def _config(self, name: str) -> Path | None:
        """None where this user has no such folder at all: nobody has to have one."""
        try:
            return config_home(self.environ) / name
        except UsageError:
            return None


def known_codes() -> frozenset[str]:
    """Returns every code that a diagnosis can give: a runbook for another one would never be used."""
    from kfix_diagnostics import ALL  # noqa: PLC0415 - the catalogue, which only validation needs

    return frozenset(check.code for check in ALL)
