"""The settings of a site and a user: their own runbooks, the policy, the store of runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import UsageError
from kfix.core.places import config_home, state_home
from kfix.heal.journal.runs import RunStore
from kfix.heal.policy import NO_POLICY, Policy

if TYPE_CHECKING:
    from kfix.heal.model.runbook import Runbook


@dataclass(frozen=True, slots=True)
class Site:
    environ: Mapping[str, str]

    def own_runbooks(self) -> Path | None:
        """Returns the user's folder of runbooks: $KFIX_RUNBOOKS, or the default one if it exists, else None."""
        named = self.environ.get("KFIX_RUNBOOKS")
        if named:
            return Path(named)
        usual = self._config("runbooks")
        return usual if usual is not None and usual.is_dir() else None

    def load(self, name: str, folder: Path | None = None) -> Runbook:
        """Returns a runbook by name. The site's `folder` overrides the user's own, and that the shipped ones.

        Raises UsageError for an unknown name.
        """
        from kfix.heal.runbook import catalogue  # noqa: PLC0415 - reading runbooks brings pydantic and YAML

        return catalogue.load(name, folder, self.own_runbooks())

    def load_or_file(self, text: str, folder: Path | None = None) -> Runbook:
        """As `load`, but text that ends in .yaml or contains a slash is the path of a file."""
        if text.endswith((".yaml", ".yml")) or os.sep in text:
            from kfix.heal.runbook.load import load_file  # noqa: PLC0415

            return load_file(Path(text))
        return self.load(text, folder)

    def load_all(self, folder: Path | None = None) -> tuple[Runbook, ...]:
        from kfix.heal.runbook import catalogue  # noqa: PLC0415

        return tuple(catalogue.load_all(folder, self.own_runbooks()))

    def files(self, folder: Path | None = None) -> Mapping[str, Path]:
        """Returns {name: file} of every runbook that `load` would find."""
        from kfix.heal.runbook import catalogue  # noqa: PLC0415

        return catalogue.files(folder, self.own_runbooks())

    def policy(self, named: Path | None = None) -> Policy:
        """Returns the policy in the file `named`, or else the default one if it exists.

        Raises UsageError if a file that was named does not exist, InvalidFileError if it is not a valid policy.
        """
        path = named
        if path is None:
            usual = self._config("policy.yaml")
            if usual is None or not os.path.lexists(usual):
                return NO_POLICY
            path = usual
        # Importing pydantic and the YAML reader takes 0.1 s, which only a site with a policy needs.
        from kfix.heal.policyfile import load_policy  # noqa: PLC0415

        return load_policy(path)

    def store(self) -> RunStore:
        return RunStore(state_home(self.environ))

    def _config(self, name: str) -> Path | None:
        """Returns a path in the user's settings folder, or None if the user has no home."""
        try:
            return config_home(self.environ) / name
        except UsageError:
            return None


def known_codes() -> frozenset[str]:
    """Returns every finding code that a diagnosis can report."""
    from kfix_diagnostics import ALL  # noqa: PLC0415 - the catalogue, which only validation needs

    return frozenset(check.code for check in ALL)
