"""Every incident of the lab, in the order in which they are listed: that of the modules, and of their declarations."""

from collections.abc import Mapping

from kfix.lab.incidents import (
    brokers,
    coordinators,
    groups,
    latent,
    leaders,
    losses,
    networks,
    offsets_topic,
    quorum,
    reassignments,
    transactions,
)
from kfix.lab.incidents.setup.incident import Broken, Incident

_MODULES = (
    latent,
    coordinators,
    offsets_topic,
    groups,
    transactions,
    leaders,
    losses,
    reassignments,
    brokers,
    quorum,
    networks,
)
INCIDENTS: Mapping[str, Incident] = {
    each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Incident)
}

__all__ = ["INCIDENTS", "Broken", "Incident"]
