"""What one snapshot shows about the whole cluster: a network cut, replicas over time, lost records.

This is the lower half of a case file: facts and background are given, everything else is computed when first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kfix.derive.background import Background
from kfix.derive.cuts import Cut, cut_of
from kfix.derive.lag import Lag, LeftOut, lags_of, left_out
from kfix.derive.loss import Lost, lost_since
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.cluster.snapshot import Mode, Snapshot, Vantage, ZooKeeperNode


@dataclass(frozen=True)
class Overview:
    snapshot: Snapshot
    facts: Sequence[PartitionFacts]
    background: Background

    @property
    def zookeeper_rules(self) -> bool:
        """Returns whether ZooKeeper is the authority: ZooKeeper mode, read, and no KRaft controller has taken over."""
        return self.background.authority and self.snapshot.cluster.mode is not Mode.KRAFT

    @cached_property
    def odd(self) -> Sequence[PartitionFacts]:
        """Returns the rows where a replica is missing or the views differ: only these can show a cut."""
        return tuple(
            f for f in self.facts if not f.deleting and (f.n_isr < f.n_replicas or not f.views_agree or not f.zk_agrees)
        )

    @cached_property
    def cut(self) -> Cut | None:
        """Returns the one network cut that explains what these sources report."""
        return cut_of(self.snapshot, [f.tp for f in self.odd]) if self.zookeeper_rules else None

    @cached_property
    def lags(self) -> tuple[Lag, ...]:
        """Returns the lag of live out-of-sync replicas over time; empty if there was only one snapshot."""
        return lags_of(self.snapshot, self.odd) if self.snapshot.samples else ()

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Returns replicas that have all records but are not added to the ISR."""
        return left_out(self.snapshot, self.odd) if self.snapshot.log_ends else ()

    @cached_property
    def lost_records(self) -> tuple[Lost, ...]:
        """Returns records of an earlier snapshot that are in no log any more; empty if no snapshot was given."""
        return lost_since(self.snapshot)

    @property
    def ensemble(self) -> tuple[ZooKeeperNode, ...]:
        return self.snapshot.ensemble

    @property
    def vantages(self) -> tuple[Vantage, ...]:
        return self.snapshot.vantages
