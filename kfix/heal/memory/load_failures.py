"""An offsets partition of the in-memory cluster that its coordinator cannot load, and its compaction.

As on Kafka 4.3.1: a load fails on the record and on the one that deletes it; each replica compacts its own log, the
first time to the deletion, the second time to nothing, and only segments that have ended.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from kfix.core.snapshot.load_conflicts import KeyLeft, LoadConflict


class Stage(IntEnum):
    """The records of the key that a replica still has."""

    GONE = 0
    TOMBSTONE = 1
    DELETED = 2
    RECORD = 3


_LEFT = {
    Stage.GONE: KeyLeft(),
    Stage.TOMBSTONE: KeyLeft(0, 1, deleted=True),
    Stage.DELETED: KeyLeft(1, 1, deleted=True),
    Stage.RECORD: KeyLeft(1, 0, deleted=False),
}


@dataclass(slots=True)
class MemoryLoadFailure:
    """`conflicts` are the ones in the log of a replica that is not `GONE`; `loaded` is the epoch of the last load."""

    conflicts: tuple[LoadConflict, ...]
    stages: dict[int, Stage]
    loaded: int
    failed: bool = True
    appended: set[bytes] = field(default_factory=set)

    def refuses(self, leader: int, epoch: int) -> bool:
        """Returns whether the coordinator refuses its groups; a new leader epoch loads the partition again."""
        if epoch != self.loaded:
            self.loaded, self.failed = epoch, self.stages.get(leader, Stage.GONE) is not Stage.GONE
        return self.failed

    def append(self, key: bytes, *, hastened: bool) -> None:
        """Appends a record without a value; with hastened compaction, each append lets it run once."""
        if any(each.key == key.hex() for each in self.conflicts):
            self.stages = {b: min(stage, Stage.DELETED) for b, stage in self.stages.items()}
            return
        self.appended.add(key)
        if hastened:
            after = {Stage.DELETED: Stage.TOMBSTONE, Stage.TOMBSTONE: Stage.GONE}
            self.stages = {b: after.get(stage, stage) for b, stage in self.stages.items()}

    def left(self, broker: int, key: bytes) -> KeyLeft:
        if any(each.key == key.hex() for each in self.conflicts):
            return _LEFT[self.stages.get(broker, Stage.GONE)]
        return _LEFT[Stage.TOMBSTONE if key in self.appended else Stage.GONE]
