"""What the actions that change nothing share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from kfix.actions.base import ActionStatus, Inverse
from kfix.model.plan.args import Args
from kfix.model.plan.facts import Fact
from kfix.model.plan.plan import Estimate
from kfix.ports import ClusterChanger, ClusterReader

ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=0.0, max_loss="none: kfix changes nothing")


def nothing_to_undo(_args: Args) -> Inverse:
    return Inverse(False, "none needed: kfix changes nothing")


def only_people_know(_args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
    """Only whoever was told to do it knows how far it is; the step's checks show what came of it."""
    return ActionStatus.UNKNOWN


def never(_args: Args, _changer: ClusterChanger) -> NoReturn:
    """Calling it is a mistake in kfix."""
    raise TypeError("this action changes nothing and must not be carried out")
