"""Cases of codes that concern the members of a KRaft cluster: registrations, and servers of another cluster."""

from __future__ import annotations

from collections.abc import Callable

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Snapshot, Source
from tests.unit.diagnostics import kraft_clusters, migrations
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.sick import Sick

INFO, WARNING = Severity.INFO, Severity.WARNING

SICK: dict[str, list[Sick]] = {
    "KFX405": [
        Sick(kraft_clusters.ghost, "broker 4", INFO),
        Sick(lambda: kraft_clusters.ghost(fetched=30), "broker 4", INFO),
        Sick(lambda: kraft_clusters.ghost(fetched=-1), "broker 4", INFO),
        Sick(lambda: kraft_clusters.ghost(reported=False), "broker 4", INFO),
    ],
    "KFX504": [
        Sick(kraft_clusters.move_never_ends, "topic ledger", WARNING),
        Sick(lambda: kraft_clusters.move_never_ends(dead=2), "topic ledger", WARNING),
        Sick(lambda: kraft_clusters.move_never_ends(dead=3, partitions=3), "topic ledger", WARNING),
    ],
    "KFX819": [
        Sick(migrations.waiting, "migration to KRaft", WARNING),
        Sick(lambda: migrations.waiting(prepared=(1, 2, 3), fetching=(1, 2)), "migration to KRaft", WARNING),
        Sick(lambda: migrations.waiting(prepared=(1, 2, 3), fetching=(1, 2, 3)), "migration to KRaft", INFO),
        Sick(
            lambda: migrations.waiting(prepared=(1, 2, 3), fetching=(1, 2, 3), age=9000), "migration to KRaft", WARNING
        ),
        Sick(lambda: migrations.waiting(prepared=(1, 2, 3), fetching=None), "migration to KRaft", WARNING),
        Sick(lambda: migrations.waiting(prepared=(1, 2), dead=3), "migration to KRaft", WARNING),
        Sick(lambda: migrations.waiting(prepared=(1, 2), fetching=(1, 2, 3), unread=3), "migration to KRaft", INFO),
        Sick(migrations.taken_over, "migration to KRaft", WARNING),
        Sick(lambda: migrations.taken_over(unprepared=(3,)), "migration to KRaft", WARNING),
        Sick(migrations.mixed, "migration to KRaft", WARNING),
        Sick(migrations.unfinished, "migration to KRaft", WARNING),
    ],
    "KFX817": [
        Sick(lambda: kraft_clusters.two_clusters("other"), "cluster other", WARNING),
        Sick(lambda: base().snapshot(foreign={"localhost:9999": "another"}), "cluster another", WARNING),
        Sick(kraft_clusters.broker_elsewhere, "cluster other", WARNING),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX405": [
        kraft_clusters.healthy,
        # It holds replicas, it runs, or it is a controller: then its registration has a reason.
        lambda: kraft_clusters.broker_dead_for(6000),
        kraft_clusters.broker_fenced_but_alive,
        lambda: kraft_clusters.ghost(runs=True),
        lambda: kraft_clusters.ghost(node=102),
        # It is starting, or kfix does not reach it; or topics are hidden, whose replicas it may hold.
        lambda: kraft_clusters.ghost(fetched=0.3),
        lambda: kraft_clusters.ghost(sources=(Source("topics of broker 1", False, "TOPIC_AUTHORIZATION_FAILED"),)),
        # Before Kafka 4.0 the controller forgets it after 5 minutes.
        lambda: kraft_clusters.ghost(fetched=-1, reported=False),
    ],
    "KFX504": [
        kraft_clusters.healthy,
        # Under way, and with a dead target: KFX501.
        lambda: kraft_clusters.move_never_ends(removing=(2,)),
        lambda: kraft_clusters.move_never_ends(removing=(2,), dead=3),
    ],
    # A cluster on KRaft whose settings were not read, and one whose ZooKeeper knows of no migration.
    "KFX819": [kraft_clusters.healthy, lambda: base().snapshot(), migrations.finished],
    "KFX817": [
        kraft_clusters.healthy,
        lambda: base().snapshot(),
        lambda: kraft_clusters.broker_elsewhere(given=False),
    ],
}
