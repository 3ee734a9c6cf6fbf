"""Named incidents on the in-memory cluster: a sick cluster and the finding that a diagnosis of it gives.

Runbooks name them in their `tests:`; unit tests and examples start from them. An incident has the name that it has in
the lab (`kfix lab incidents`); a suffix names a variant of it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import isfunction, signature
from typing import get_type_hints

from kfix.heal.memory.incidents import coordinators, groups, partitions, quorum, registrations, restarts
from kfix.heal.memory.incidents.coordinators import ORDERS, STUCK
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

Make = Callable[..., PreparedIncident]


def _named() -> Iterator[tuple[str, Make]]:
    """Yields each public function that returns an incident; one with a parameter `kind` also for a KRaft cluster."""
    for module in (coordinators, groups, partitions, quorum, registrations, restarts):
        for function, make in vars(module).items():
            if (
                not function.startswith("_")
                and isfunction(make)
                and get_type_hints(make).get("return") is PreparedIncident
            ):
                yield (name := function.replace("_", "-")), make
                if "kind" in signature(make).parameters:
                    yield f"{name}-kraft", partial(make, kind=MemoryKraftCluster)


ALL: Mapping[str, Make] = dict(sorted(_named()))

__all__ = ["ALL", "ORDERS", "STUCK", "PreparedIncident", "found", "requested"]
