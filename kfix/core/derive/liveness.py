"""Which brokers are likely alive or dead in a text that lists none: inferred from leaders and ISRs.

The controller gives leadership to live brokers only, and takes a dead broker out of the ISR of every partition that
keeps a leader (docs/facts/controller.md). So a broker that leads, or is in the ISR of a partition with a leader, was
alive; a broker that is in none of those, although others are, was likely dead. A live replica that only lags looks the
same on one partition, so one partition is not enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.core.snapshot.pasted import PastedText
from kfix.core.snapshot.snapshot import PartitionView, Snapshot, TopicPartition
from kfix.core.wording import several

#: Partitions with a leader that lack a broker before it counts as dead.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Likely:
    """{broker: sign of it}, of brokers that are likely alive and of those that are likely dead; none is in both.

    A sign continues the sentence "broker 3 ...".
    """

    alive: Mapping[int, str] = field(default_factory=dict)
    dead: Mapping[int, str] = field(default_factory=dict)


def likely_of(snapshot: Snapshot) -> Likely:
    """Returns the hints of a pasted text without a list of brokers; nothing for any other snapshot."""
    if snapshot.pasted is None or snapshot.pasted.registered is not None:
        return Likely()
    if any(view.alive for view in snapshot.views.values()):
        return Likely()
    [view] = snapshot.views.values()
    return _inferred(view.partitions, snapshot.pasted, _adding(snapshot))


def _adding(snapshot: Snapshot) -> Mapping[TopicPartition, tuple[int, ...]]:
    return {tp: move.adding for tp, move in (snapshot.reassignments or {}).items()}


def _inferred(
    partitions: Mapping[TopicPartition, PartitionView],
    text: PastedText,
    adding: Mapping[TopicPartition, tuple[int, ...]],
) -> Likely:
    leads, in_sync, lacking, alone = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for tp, view in partitions.items():
        if view.leader < 0:
            alone.update(view.isr or text.elr.get(tp, ()))
            continue
        leads[view.leader] += 1
        in_sync.update(set(view.isr) - {view.leader})
        lacking.update(set(view.replicas) - set(view.isr) - set(adding.get(tp, ())) - {view.leader}
                       - set(text.observers.get(tp, ())))  # fmt: skip
    alive = {b: f"leads {several(n, 'partition')}" for b, n in leads.items()}
    alive |= {b: f"is in the ISR of {several(n, 'partition')} with a leader" for b, n in in_sync.items()
              if b not in alive}  # fmt: skip
    known = alive.keys()
    # A text that leaves partitions out does not show the leaders of those.
    dead = {
        b: _sign(lacking[b])
        for b in lacking.keys() | alone.keys()
        if b not in known and known and not text.partial and (lacking[b] >= _ENOUGH or alone[b])
    }
    # A line about a broker itself outweighs its place in an ISR; contradictory signs leave it out.
    doubtful = {b for b in text.dead if b in text.alive or b in leads}
    said_alive = {b: why for b, why in text.alive.items() if b not in doubtful}
    said_dead = {b: why for b, why in text.dead.items() if b not in doubtful}
    return Likely(
        {b: why for b, why in sorted((said_alive | alive).items()) if b not in text.dead},
        {b: why for b, why in sorted((dead | said_dead).items()) if b not in text.alive and b not in doubtful},
    )


def _sign(lacking: int) -> str:
    if not lacking:
        return "leads nothing and is in no ISR of a partition with a leader"
    missing = f"{several(lacking, 'partition')} with a leader {'has' if lacking == 1 else 'have'} a replica there"
    return f"leads nothing and is in no ISR, although {missing}"
