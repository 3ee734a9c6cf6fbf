"""What becomes of one partition if brokers go down at the same moment: Kafka's rules as predicates over bitmasks.

Every input is a scalar, a bitmask of brokers, or one bit of it, and every rule looks at one partition alone. The fleet
can therefore compute the same rules over columns of stored clusters (DuckDB, Spark) without this code: `online & ~down`
and "the first bit of `order` that is in a mask" are all it takes. Nothing here knows a snapshot.

The rules are those of a controller on ZooKeeper (docs/facts/controller.md):

- A controller that stays alive finds the partitions to elect in its memory: those whose leader there is dead or none.
  The in-sync replicas it elects from are those of ZooKeeper's record.
- It removes dead replicas from the recorded ISR, and writes leader -1 where the dead replica is the recorded leader.
  It elects no leader then: a partition whose record names another leader than the memory is stranded.
- A new controller knows only the record, so a difference is gone.
- The leader is the first live in-sync replica in the order of the assignment; without one, and if unclean elections are
  enabled there, the first live replica.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kfix.model.diagnosis.forecast import Fate

#: For a number or a bit that was not read.
UNREAD: Final = -1
NONE: Final = 0
NO, YES = 0, 1


class PartitionMasks(NamedTuple):
    """A partition today. Equal rows have equal fates, so they are judged once.

    `online` are the replicas and leaders that can serve: alive, and their log directory works. `believed` is the leader
    in the controller's memory, as the brokers' metadata shows it. `min_isr` is that which holds if the replica at the
    same place of `order` leads. `unclean` holds while today's controller is in office, `unclean_later` under another.
    """

    order: tuple[int, ...]  # one bit each
    replicas: int
    isr: int
    online: int
    leader: int  # of the record; NONE without one
    believed: int  # NONE: no leader; UNREAD: no broker's metadata has the partition
    min_isr: tuple[int, ...]
    unclean: int  # YES, NO or UNREAD
    unclean_later: int

    @property
    def serves(self) -> int:
        """The bit of today's leader; NONE if it has none."""
        return self.leader & self.online

    @property
    def restless(self) -> bool:
        """Whether a failure of brokers that have no replica of it may change it, too."""
        return self.believed != self.leader or not self.serves


class AfterFailure(NamedTuple):
    """The partition afterwards; `leader` is a bit, NONE or UNREAD."""

    fate: Fate
    leader: int
    isr: int
    min_isr: int  # at the new leader; UNREAD
    under: int  # below min.insync.replicas: YES, NO, UNREAD
    under_before: int
    last: bool  # one in-sync replica is left, of several replicas
    last_before: bool
    same: bool  # leader and ISR are those of today

    @property
    def falls_under(self) -> int:
        """YES only if it is not below today: what was so before is not caused by the failure."""
        if self.same or self.fate is Fate.STOPPED or self.under == NO or self.under_before == YES:
            return NO
        return UNREAD if UNREAD in (self.under, self.under_before) else YES

    @property
    def left_with_last(self) -> bool:
        return self.last and not self.last_before and self.fate is not Fate.STOPPED


def after_failure(row: PartitionMasks, down: int, *, new_controller: bool) -> AfterFailure:
    """Returns what becomes of the partition if the brokers of the mask `down` die at once."""
    online = row.online & ~down
    in_sync = row.isr & online
    believed = row.leader if row.believed == UNREAD else row.believed
    offline = not (row.leader if new_controller else believed) & online
    leader, unclean = row.leader & online, False
    if offline:
        leader = _first(row.order, in_sync)
        if leader == NONE and (heir := _first(row.order, online)) != NONE:
            setting = row.unclean_later if new_controller else row.unclean
            leader, unclean = {YES: heir, NO: NONE, UNREAD: UNREAD}[setting], setting == YES
        # With metadata that was not read, the partition may be one that the controller would strand.
        if row.believed == UNREAD and row.serves & down and in_sync and not new_controller:
            leader = UNREAD
    if unclean:
        in_sync = leader
    fate = _fate(row, leader, in_sync, unclean=unclean)
    min_isr = _min_isr(row, leader)
    before = row.isr & row.online
    return AfterFailure(
        fate,
        leader,
        in_sync,
        min_isr,
        _under(leader, in_sync, min_isr),
        _under(row.serves, before, _min_isr(row, row.serves)),
        leader > NONE and _one(in_sync) and len(row.order) > 1,
        row.serves != NONE and _one(before) and len(row.order) > 1,
        fate is Fate.KEEPS and in_sync == before,
    )


def _fate(row: PartitionMasks, leader: int, in_sync: int, *, unclean: bool) -> Fate:
    if row.serves == NONE:
        return Fate.STOPPED
    if leader == UNREAD:
        return Fate.UNKNOWN
    if leader == NONE:
        return Fate.STRANDED if in_sync & row.replicas else Fate.STOPS
    if unclean:
        return Fate.UNCLEAN
    served = row.believed & row.online if row.believed > NONE else row.serves
    return Fate.KEEPS if leader == (served or row.serves) else Fate.MOVES


def _first(order: tuple[int, ...], among: int) -> int:
    return next((bit for bit in order if bit & among), NONE)


def _one(mask: int) -> bool:
    return mask.bit_count() == 1


def _min_isr(row: PartitionMasks, leader: int) -> int:
    if leader <= NONE or leader not in row.order:
        return UNREAD
    return row.min_isr[row.order.index(leader)]


def _under(leader: int, in_sync: int, min_isr: int) -> int:
    """Returns whether acks=all is refused; a partition without a leader refuses everything, which is another matter."""
    if leader == NONE:
        return NO
    if UNREAD in (leader, min_isr):
        return UNREAD
    return YES if in_sync.bit_count() < min_isr else NO
