"""What the actions that change nothing share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from kfix.core.args import Args
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.heal.actions.base import Action, ActionStatus, Inverse
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import Estimate, Gate, Risk

ESTIMATE = Estimate(seconds=0.0, max_loss="none: kfix changes nothing")


class Idle(Action):
    """A step that a person carries out, or that only waits."""

    risk = Risk.NOTHING
    gate_floor = Gate.STEP
    changes = False

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: kfix changes nothing")

    def apply(self, _args: Args, _changer: ClusterChanger) -> NoReturn:
        """Raises TypeError: calling it is a mistake in kfix."""
        raise TypeError("this action changes nothing and must not be carried out")

    def probe(self, _args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
        """Only the person who does it knows the progress; the step's checks show the result."""
        return ActionStatus.UNKNOWN
