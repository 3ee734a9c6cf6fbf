"""Every change a runbook may name, by hand: a diff of this file shows a new power."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions import controller_reelect, leader_elect_isr, leader_elect_preferred, reassign_noop
from kfix.actions.base import Action
from kfix.model.args import Args, ArgValue, Kind

ALL: Mapping[str, Action] = {
    "controller.reelect": controller_reelect.ACTION,
    "leader.elect_isr": leader_elect_isr.ACTION,
    "leader.elect_preferred": leader_elect_preferred.ACTION,
    "reassign.noop": reassign_noop.ACTION,
}

_EXAMPLES: Mapping[Kind, ArgValue] = {
    Kind.PARTITION: "TOPIC-0",
    Kind.BROKERS: (1, 2, 3),
    Kind.INT: 1,
    Kind.BROKER: 1,
    Kind.TOPIC: "TOPIC",
    Kind.TEXT: "TEXT",
    Kind.RATE: 50_000_000,
    Kind.BYTES: 0,
    Kind.BOOL: False,
    Kind.DURATION: 60.0,
}


def described(action: Action) -> tuple[str, str, str, str, str]:
    """(summary, risk, gate floor, undo, the way by hand), told with example arguments."""
    args = Args({name: _EXAMPLES[kind] for name, kind in action.kinds.items()})
    preview, inverse = action.preview(args), action.inverse(args)
    return action.summary, action.risk.value, action.gate_floor.word, inverse.text, preview.command
