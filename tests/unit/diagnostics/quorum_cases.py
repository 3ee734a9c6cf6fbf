"""Clusters of KRaft whose brokers are cut off or fenced, or whose controllers are unsteady (KFX812 to KFX815)."""

from __future__ import annotations

from collections.abc import Callable

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Snapshot
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.sick import Sick

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL

SICK: dict[str, list[Sick]] = {
    "KFX812": [
        Sick(kraft_clusters.one_controller_dead, "controller 102", WARNING),
        Sick(kraft_clusters.one_controller_has_just_died, "controller 102", INFO),
        Sick(kraft_clusters.one_controller_gone_since_the_election, "controller 102", WARNING),
        Sick(kraft_clusters.one_controller_does_not_follow, "controller 102", WARNING),
        Sick(kraft_clusters.one_controller_lags, "controller 102", WARNING),
        Sick(lambda: kraft_clusters.never_fetched(102), "controller 102", WARNING),
        Sick(kraft_clusters.one_controller_on_another_disk, "controller 102", WARNING),
        Sick(kraft_clusters.nothing_listens_where_a_controller_is_said_to_be, "controller 102", WARNING),
        Sick(kraft_clusters.two_voters, "voters", WARNING),
        Sick(lambda: kraft_clusters.two_voters(unknown=True), "voters", WARNING),
    ],
    "KFX813": [
        Sick(kraft_clusters.broker_cut_from_controllers, "broker 1", CRITICAL),
        Sick(lambda: kraft_clusters.broker_cut_from_controllers(None), "broker 1", CRITICAL),
        Sick(kraft_clusters.broker_that_hangs, "broker 1", WARNING),
        Sick(kraft_clusters.metadata_is_not_applied, "broker 2", WARNING),
    ],
    "KFX814": [
        Sick(kraft_clusters.broker_fenced_but_alive, "broker 1", WARNING),
        Sick(kraft_clusters.heartbeats_too_rare, "broker 1", WARNING),
        Sick(kraft_clusters.broker_fenced_and_not_asked, "broker 1", WARNING),
        Sick(kraft_clusters.in_sync_and_fenced, "broker 2", WARNING),
        Sick(lambda: kraft_clusters.in_sync_and_fenced((2,)), "broker 2", WARNING),
        Sick(
            lambda: kraft_clusters.broker_fenced_but_alive(memory=Memory(well={1: NOW - 20})),
            "broker 1",
            INFO,
        ),
    ],
    "KFX815": [
        Sick(lambda: kraft_clusters.unsteady(epochs={4: 200, 9: 20}), "active controller", WARNING),
        Sick(lambda: kraft_clusters.unsteady(epochs={4: 200, 12: 5}), "active controller", INFO),
        Sick(lambda: kraft_clusters.unsteady(epochs={4: 200}, dead={101: 100}), "active controller", INFO),
        # A dead broker explains no election, and a restart not any number of them.
        Sick(lambda: kraft_clusters.unsteady(epochs={4: 200}, dead={2: 100}), "active controller", WARNING),
        Sick(lambda: kraft_clusters.unsteady(epoch=40, epochs={4: 200}, dead={101: 9}), "active controller", WARNING),
        Sick(lambda: kraft_clusters.unsteady(epoch=8, epochs={4: 200}), "active controller", INFO),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX812": [
        kraft_clusters.healthy,
        kraft_clusters.one_controller_not_reached_but_alive,
        kraft_clusters.one_controller_pauses,
        kraft_clusters.no_fetch_is_dated,
        kraft_clusters.two_controllers_dead,
        # No third controller is there to be added.
        lambda: kraft_clusters.two_voters(controllers=2),
        # The active controller still lists the removed voter, which is dead.
        lambda: kraft_clusters.one_controller_on_another_disk(removed=True),
        # No controller is reached from here, which says nothing about one of them.
        lambda: kraft_clusters.nothing_listens_where_a_controller_is_said_to_be(other="connection refused"),
    ],
    "KFX813": [
        kraft_clusters.healthy,
        kraft_clusters.broker_caught_up_late,
        lambda: kraft_clusters.broker_dead_for(60),
        kraft_clusters.broker_fenced_but_alive,
        # It was behind for a moment.
        lambda: kraft_clusters.metadata_is_not_applied(later=kraft_clusters.HIGH - 1),
        # The deadline left too little time between the two readings.
        lambda: kraft_clusters.metadata_is_not_applied(apart=0.3),
    ],
    "KFX814": [
        kraft_clusters.healthy,
        kraft_clusters.broker_cut_from_controllers,
        lambda: kraft_clusters.broker_dead_for(60),
    ],
    "KFX815": [
        kraft_clusters.healthy,
        lambda: kraft_clusters.unsteady(epoch=5, epochs={4: 30}),
        lambda: kraft_clusters.unsteady(epochs={4: 3000}),
        lambda: kraft_clusters.unsteady(epochs={12: 30}),
    ],
}
