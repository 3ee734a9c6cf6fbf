"""Records of an offsets partition on which the coordinator of Kafka 4 fails when it loads the partition."""

import json
from dataclasses import asdict, dataclass

from kfix.core.snapshot.offsets import SavedGroup
from kfix.core.snapshot.snapshot import TopicPartition

#: Conflicts that the text of a fact names; more of them are counted.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class LoadConflict:
    """Records of the consumer protocol with one key, which a load reads while the group is a classic one.

    key       of the records, in hexadecimal
    kind      type of the key, a number of `CoordinatorRecordType`
    offset    of the first record that a load fails on
    first     offset of the first record with this key
    classic   offset of the record that makes the group a classic one
    """

    group: str
    key: str
    kind: int
    offset: int
    first: int
    classic: int

    @property
    def words(self) -> str:
        return (
            f"offset {self.offset} has a record of the consumer protocol (type {self.kind}) for group {self.group}, "
            f"which is a classic group by offset {self.classic}"
        )


@dataclass(frozen=True, slots=True)
class OffsetsReplay:
    """A whole offsets partition, read at its leader and replayed as a coordinator loads it.

    unknown   why a load may fail on a record that kfix does not know; "" if there is none
    missing   what was not read; empty if every record was read
    pending   {group} whose newest offsets belong to a transaction that has not ended
    """

    tp: TopicPartition
    conflicts: tuple[LoadConflict, ...] = ()
    groups: tuple[SavedGroup, ...] = ()
    unknown: str = ""
    missing: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """Returns the conflicts as a fact of a plan, None if there is none; `parse_conflicts` reads it back."""
        if not self.conflicts and not self.unknown:
            return None
        named = [asdict(each) for each in self.conflicts[:_MOST_NAMED]]
        found = {"conflicts": named, "count": len(self.conflicts), "unknown": self.unknown}
        return json.dumps(found, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class NamedConflicts:
    """The conflicts of a partition, of which a fact names the first ones."""

    named: tuple[LoadConflict, ...]
    count: int
    unknown: str


def parse_conflicts(text: str) -> NamedConflicts:
    """Parses the text of `OffsetsReplay.text`. Raises ValueError for another text."""
    try:
        found = json.loads(text)
        named = tuple(LoadConflict(**each) for each in found["conflicts"])
        return NamedConflicts(named, int(found["count"]), str(found["unknown"]))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{text[:60]!r} are not conflicts of an offsets partition") from error


@dataclass(frozen=True, slots=True)
class KeyLeft:
    """Records with one key in the log of one replica.

    `deleted`: the last of them has no value, or there is none. `error` is why the log was not read to its end.
    """

    values: int = 0
    tombstones: int = 0
    deleted: bool = True
    error: str = ""

    @property
    def words(self) -> str:
        if self.error:
            return self.error
        found = [f"{n} {word}" for n, word in ((self.values, "with a value"), (self.tombstones, "without")) if n]
        return ", ".join(found) or "none"
