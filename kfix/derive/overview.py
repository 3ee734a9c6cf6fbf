"""What one look says of the whole cluster: a cut of the network, replicas over time, records that are gone.

The lower half of a case file: partitions and background are given, everything is worked out when first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kfix.derive.background import Background
from kfix.derive.cuts import Cut, cut_of
from kfix.derive.lag import Lag, LeftOut, lags_of, left_out
from kfix.derive.loss import Lost, lost_since
from kfix.derive.partitions import Partitions, Rows
from kfix.derive.predicate import parse
from kfix.model.cluster.snapshot import Mode, Snapshot, Vantage, ZooKeeperNode

ODD = parse("not deleting and (n_isr < n_replicas or not views_agree or not zk_agrees)", "Overview.odd")


@dataclass(frozen=True)
class Overview:
    snapshot: Snapshot
    partitions: Partitions
    background: Background

    @property
    def zookeeper_rules(self) -> bool:
        """ZooKeeper mode, ZooKeeper was read, and no KRaft controller has taken over."""
        return self.background.authority and self.snapshot.cluster.mode is not Mode.KRAFT

    @cached_property
    def odd(self) -> Rows:
        """Rows where a replica is missing or somebody sees the partition otherwise: only these can show a cut."""
        return self.partitions.where(ODD)

    @cached_property
    def cut(self) -> Cut | None:
        """The one cut of the network that explains what these sources say."""
        return cut_of(self.snapshot, [f.tp for f in self.odd]) if self.zookeeper_rules else None

    @cached_property
    def lags(self) -> tuple[Lag, ...]:
        """Living replicas out of sync, over time; empty where there was one look only."""
        return lags_of(self.snapshot, self.odd) if self.snapshot.samples else ()

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Replicas that have everything and are not taken back into the isr."""
        return left_out(self.snapshot, self.odd) if self.snapshot.log_ends else ()

    @cached_property
    def lost_records(self) -> tuple[Lost, ...]:
        """Records of an earlier look that are in no log any more; empty where none was given."""
        return lost_since(self.snapshot)

    @property
    def ensemble(self) -> tuple[ZooKeeperNode, ...]:
        return self.snapshot.ensemble

    @property
    def vantages(self) -> tuple[Vantage, ...]:
        return self.snapshot.vantages
