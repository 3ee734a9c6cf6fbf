"""How a cluster is judged: one record from the options of a command, or the inventory, to the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kfix.core.expected import EXPECTED, Expected
from kfix.core.timing import DiagnosisTimes


@dataclass(frozen=True, slots=True)
class Criteria(DiagnosisTimes):
    """With `prevention` latent risks are judged too, measured against what the site expects.

    `zones` are {rack: the name that people know it by}.
    """

    prevention: bool = False
    expected: Expected = EXPECTED
    zones: Mapping[str, str] = field(default_factory=dict)

    @property
    def times(self) -> DiagnosisTimes:
        return DiagnosisTimes(self.debounce, self.restart_grace, self.transaction_grace)


CRITERIA: Final = Criteria()
