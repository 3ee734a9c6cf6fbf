"""Options of a snapshot: what to read beyond the default. Knows no protocol: a diagnosis of a file needs it, too."""

from collections.abc import Callable
from dataclasses import dataclass

from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Sample


def _remember_nothing(_: str) -> Memory:
    return Memory()


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What to read beyond the default.

    groups         consumer groups to probe and to read in depth, by name
    vantage        name of this place, for a snapshot that is merged with those of other places: it then records which
                   servers were unreachable, and reads the logs of partitions with a replica that is unreachable here
    every_log_end  reads the log end offsets of all partitions, so that a later snapshot can show lost records
    before         such an earlier snapshot
    fleet_facts    reads what the questions of a fleet need, too
    recall         returns the groups and brokers of earlier snapshots, by cluster id
    """

    groups: tuple[str, ...] = ()
    vantage: str = ""
    every_log_end: bool = False
    before: Sample | None = None
    fleet_facts: bool = False
    recall: Callable[[str], Memory] = _remember_nothing
