"""Checks over a fleet, for what no single cluster can show. One file per check; its module docstring is its page."""

from kfix.core.fleetcase import FleetCheck
from kfix_diagnostics import declared

FLEET: tuple[FleetCheck, ...] = tuple(each for each in declared(__name__) if isinstance(each, FleetCheck))

__all__ = ["FLEET"]
