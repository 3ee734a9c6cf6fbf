"""Partitions without a leader of which no in-sync replica is alive (KFX103, KFX104)."""

from __future__ import annotations

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.quorum import EligibleLeaders
from tests.unit.diagnostics import kraft_clusters, unclean_clusters
from tests.unit.diagnostics.clusters import isr_gone, no_zookeeper, offsets_rf1, packed_replicas
from tests.unit.diagnostics.sick import Sick

CRITICAL = Severity.CRITICAL
NOBODY = EligibleLeaders((), ())

SICK: dict[str, list[Sick]] = {
    "KFX103": [
        Sick(lambda: isr_gone().snapshot(), "ISR on broker 1", CRITICAL),
        Sick(lambda: packed_replicas().kill(1).kill(2).snapshot(), "ISR on broker 2", CRITICAL),
        Sick(lambda: no_zookeeper(isr_gone()).snapshot(), "ISR on broker 1, unclean elections unknown", CRITICAL),
        Sick(kraft_clusters.in_sync_and_fenced, "ISR on broker 2", CRITICAL),
        Sick(lambda: kraft_clusters.in_sync_and_fenced(asked=False), "ISR on broker 2", CRITICAL),
        Sick(unclean_clusters.in_sync_dead, "ISR on broker 1, unclean elections on", CRITICAL),
        Sick(kraft_clusters.nobody_eligible, "empty ISR", CRITICAL),
        Sick(
            lambda: unclean_clusters.unread(2, eligible=NOBODY, unclean=True),
            "empty ISR, unclean elections on",
            CRITICAL,
        ),
        Sick(lambda: unclean_clusters.unread(1, 2), "eligible replicas not read", CRITICAL),
        Sick(
            lambda: unclean_clusters.unread(2, unclean=True),
            "eligible replicas not read, unclean elections on",
            CRITICAL,
        ),
    ],
    "KFX104": [
        Sick(lambda: offsets_rf1().kill(3).snapshot(), "replicas on broker 3", CRITICAL),
        Sick(lambda: packed_replicas().kill(1).kill(2).snapshot(), "replicas on brokers 1, 2", CRITICAL),
        Sick(lambda: kraft_clusters.in_sync_and_fenced((2,)), "replicas on broker 2", CRITICAL),
        Sick(unclean_clusters.no_live_replica, "replicas on brokers 1, 2, 3, unclean elections on", CRITICAL),
        Sick(lambda: unclean_clusters.unread(1, 2, 3, eligible=NOBODY), "empty ISR", CRITICAL),
        Sick(lambda: unclean_clusters.unread(1, 2, 3), "eligible replicas not read", CRITICAL),
    ],
}
