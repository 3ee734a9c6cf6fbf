"""Every change a runbook may name, by hand: a diff of this file shows a new power."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions import controller_reelect, leader_elect_isr, leader_elect_preferred, reassign_noop
from kfix.actions.base import Action

ALL: Mapping[str, Action] = {
    "controller.reelect": controller_reelect.ACTION,
    "leader.elect_isr": leader_elect_isr.ACTION,
    "leader.elect_preferred": leader_elect_preferred.ACTION,
    "reassign.noop": reassign_noop.ACTION,
}
