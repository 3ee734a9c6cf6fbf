"""What becomes of one partition if brokers go down at the same moment: Kafka's rules as predicates over bitmasks.

Every input is a scalar, a bitmask of brokers, or one bit of it, and every rule looks at one partition alone. `RULES` is
their only declaration: `formulas` makes of it the function that `kfix whatif` calls, and the SQL that judges the states
of a whole fleet (`sql`). Nothing here knows a snapshot.

The rules are a ZooKeeper controller's (docs/facts/controller.md):

- A controller that stays alive finds the partitions to elect in its memory: those whose leader there is dead or none.
  It elects from the in-sync replicas in ZooKeeper's record.
- It removes dead replicas from the recorded ISR, and writes leader -1 if the dead replica is the recorded leader.
  It elects no leader then: a partition whose record names another leader than the memory is stranded.
- A new controller knows only the record, so a difference is gone.
- The leader is the first live in-sync replica in the order of the assignment; without one, and if unclean elections are
  enabled there, the first live replica.

A KRaft controller (docs/facts/kraft.md) differs in three ways. Record and memory are one. Without a live in-sync
replica it elects the first live eligible one (`elr`, KIP-966). Without a majority of the controllers nothing changes
(`frozen`): a partition keeps its leader if that is alive, and acks=all waits for in-sync replicas that are dead.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kfix.core.diagnosis.forecast import Fate
from kfix.core.failures.formulas import Formulas

#: For a number or a bit that was not read.
UNREAD: Final = -1
NONE: Final = 0
NO, YES = 0, 1
#: The fates by the number that the rules give them.
FATES: Final = tuple(Fate)

#: {column: its meaning}: a partition today, as in `PartitionMasks`, and the failure.
INPUTS: Final[Mapping[str, type]] = {
    "replicas": int,
    "factor": int,
    "isr": int,
    "online": int,
    "leader": int,
    "believed": int,
    "unclean": int,
    "unclean_later": int,
    "elr": int,
    "down": int,
    "new_controller": bool,
    "frozen": bool,
}
#: Of these, what belongs to the failure.
OF_FAILURE: Final = ("down", "new_controller", "frozen")
#: Each rule may use the inputs and the rules above it. `first(mask)` is the first replica of the assignment in a mask,
#: NONE without one; `min_isr(bit)` is min.insync.replicas if that replica leads, UNREAD for no replica; `count(mask)`.
RULES: Final[Mapping[str, str]] = {
    "serves": "leader & online",
    "served": "believed & online if believed > NONE and believed & online != NONE else serves",
    "restless": "believed != leader or serves == NONE",
    "up": "online & ~down",
    "up_isr": "isr & up",
    "memory": "leader if believed == UNREAD else believed",
    "offline": "(leader if new_controller else memory) & up == NONE and not frozen",
    "up_elr": "NONE if elr == UNREAD else elr & up",
    "heir": "first(up_isr) if up_isr != NONE else first(up_elr)",
    "other_heir": "first(up)",
    "setting": "unclean_later if new_controller else unclean",
    "lacks_heir": "offline and heir == NONE and other_heir != NONE",
    # If the metadata was not read, the controller might strand the partition.
    "may_strand": (
        "offline and believed == UNREAD and serves & down != NONE and up_isr != NONE and not new_controller"
    ),
    "hidden": "may_strand or lacks_heir and setting == UNREAD or lacks_heir and elr == UNREAD",
    "unclean_election": "lacks_heir and setting == YES and not hidden",
    "new_leader": ("UNREAD if hidden else other_heir if unclean_election else heir if offline else leader & up"),
    "from_elr": "offline and up_isr == NONE and heir != NONE",
    "new_isr": "new_leader if unclean_election or from_elr else up_isr",
    "fate": (
        "STOPPED if serves == NONE else UNKNOWN if new_leader == UNREAD else UNCLEAN if unclean_election "
        "else KEEPS if new_leader == served else MOVES if new_leader != NONE "
        "else STRANDED if new_isr & replicas != NONE and not frozen else STOPS"
    ),
    "stalls": "frozen and isr & down != NONE",
    "needed": "min_isr(new_leader)",
    # A partition without a leader refuses everything, not only acks=all.
    "under": (
        "NO if new_leader == NONE else YES if stalls else UNREAD if needed == UNREAD "
        "else YES if count(new_isr) < needed else NO"
    ),
    "isr_today": "isr & online",
    "needed_today": "min_isr(serves)",
    "under_today": (
        "NO if serves == NONE else UNREAD if needed_today == UNREAD else YES if count(isr_today) < needed_today else NO"
    ),
    "same": "new_leader == served and new_isr == isr_today and not unclean_election",
    # Not caused by the failure if it is so today.
    "falls_under": (
        "NO if serves == NONE or same or under_today == YES else YES if stalls and new_leader != NONE "
        "else under if under_today == NO else UNREAD if under != NO else NO"
    ),
    "last": "new_leader > NONE and count(new_isr) == 1 and factor > 1",
    "last_today": "serves != NONE and count(isr_today) == 1 and factor > 1",
    "left_with_last": "last and not last_today and serves != NONE",
}
_CONSTANTS: Final[Mapping[str, int]] = {
    "UNREAD": UNREAD,
    "NONE": NONE,
    "NO": NO,
    "YES": YES,
    **{fate.name: number for number, fate in enumerate(FATES)},
}
FORMULAS: Final = Formulas(RULES, INPUTS, _CONSTANTS)


class PartitionMasks(NamedTuple):
    """A partition today. Equal rows have equal fates, so they are judged once.

    `online` are the replicas and leaders that can serve: alive, and their log directory works. `believed` is the
    leader in the controller's memory, as the brokers' metadata shows it. `elr` are the eligible leader replicas.
    `min_isr` is that which holds if the replica at the same place of `order` leads. `unclean` holds while today's
    controller is in office, `unclean_later` under another.
    """

    order: tuple[int, ...]  # One bit each.
    replicas: int
    isr: int
    online: int
    leader: int  # From the record; NONE without one.
    believed: int  # NONE: no leader; UNREAD: no broker's metadata has the partition
    min_isr: tuple[int, ...]
    unclean: int  # YES, NO or UNREAD
    unclean_later: int
    elr: int = NONE  # UNREAD where it is unknown

    @property
    def serves(self) -> int:
        """The bit of today's leader; NONE if it has none."""
        return self.leader & self.online

    @property
    def concerning(self) -> int:
        """The brokers whose failure may change it, unless it is restless."""
        return self.replicas | self.isr | self.leader | max(self.believed, NONE) | max(self.elr, NONE)

    @property
    def restless(self) -> bool:
        """Whether a failure of brokers without a replica of it may change it, too."""
        return self.believed != self.leader or not self.serves


class AfterFailure(NamedTuple):
    """The partition afterwards; `leader` is a bit, NONE or UNREAD.

    `falls_under` and `left_with_last` hold only if they do not hold today: the failure does not cause an existing
    state.
    """

    fate: Fate
    leader: int
    isr: int
    min_isr: int  # At the new leader; UNREAD.
    under: int  # Below min.insync.replicas: YES, NO, UNREAD.
    falls_under: int  # YES, NO, UNREAD
    last: bool  # One in-sync replica is left, of several replicas.
    left_with_last: bool


_judge = FORMULAS.function(
    ("fate", "new_leader", "new_isr", "needed", "under", "falls_under", "last", "left_with_last")
)


def after_failure(row: PartitionMasks, down: int, *, new_controller: bool, frozen: bool = False) -> AfterFailure:
    """Returns the partition's fate if the brokers of the mask `down` die at once; `frozen`: no controller acts then."""
    fate, *rest = _judge(
        lambda mask: next((bit for bit in row.order if bit & mask), NONE),
        lambda bit: row.min_isr[row.order.index(bit)] if bit in row.order else UNREAD,
        replicas=row.replicas,
        factor=len(row.order),
        isr=row.isr,
        online=row.online,
        leader=row.leader,
        believed=row.believed,
        unclean=row.unclean,
        unclean_later=row.unclean_later,
        elr=row.elr,
        down=down,
        new_controller=new_controller,
        frozen=frozen,
    )
    return AfterFailure(FATES[fate], *rest)
