"""What the actions that change nothing share."""

from __future__ import annotations

from typing import NoReturn

from kfix.actions.base import Inverse
from kfix.model.args import Args
from kfix.model.facts import ReadFact
from kfix.model.plan import Estimate
from kfix.ports import ClusterChanger

ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=0.0, max_loss="none: kfix changes nothing")


def no_facts(_args: Args) -> tuple[str, ...]:
    return ()


def as_written(args: Args, _read: ReadFact) -> Args:
    return args


def nothing_to_undo(_args: Args) -> Inverse:
    return Inverse(False, "none needed: kfix changes nothing")


def never(_args: Args, _changer: ClusterChanger) -> NoReturn:
    """Calling it is a mistake in kfix."""
    raise TypeError("this action changes nothing and must not be carried out")
