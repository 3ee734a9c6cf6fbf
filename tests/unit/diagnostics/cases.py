"""For every code: clusters that have it (with the object it must name) and clusters that nearly have it but do not."""

from __future__ import annotations

from collections.abc import Callable

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Mode, Snapshot, ZooKeeperNode
from tests.unit.diagnostics import (
    created_cases,
    cut_clusters,
    disk_clusters,
    group_cases,
    kraft_cases,
    kraft_clusters,
    leaderless_cases,
    prevention_cases,
    quorum_cases,
    throttle_cases,
)
from tests.unit.diagnostics.build import Paper, remembering
from tests.unit.diagnostics.clusters import (
    G2,
    another_epoch_at_zookeeper,
    base,
    broker_ids_gone,
    capping,
    changed,
    coordinator_loading,
    coordinator_stuck,
    deleting,
    isr_gone,
    metadata_divergence,
    never_told,
    no_zookeeper,
    offsets_not_loaded,
    offsets_rf1,
    offsets_uncompacted,
    offsets_withheld,
    old,
    on_broker,
    packed_replicas,
    partitions_stuck,
    pending_offsets,
    rack_packed,
    slow_follower,
    stale_view,
    stuck_reassignment,
    text,
    unasked_coordinator,
    unread_zookeeper,
    zone_isolated_with_leader,
)
from tests.unit.diagnostics.sick import Sick

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL


_REPORTED = (
    "Metadata for all topics (from broker 2: localhost:9092/2):\n 1 brokers:\n  broker 2 at localhost:9092\n"
    '  topic "x" with 1 '
    "partitions:\n    partition 0, leader -1, replicas: 1,2, isrs: 2, Broker: Leader not available"
)
_LEADERLESS = "Topic: x Partition: 0 Leader: none Replicas: 1,2 Isr: 2"
_LED = "Topic: x Partition: {0} Leader: {1} Replicas: 1,2,3 Isr: 1,{1}"


SICK: dict[str, list[Sick]] = {
    "KFX101": [Sick(lambda: coordinator_stuck().snapshot(), str(G2), CRITICAL)],
    "KFX102": [
        Sick(lambda: partitions_stuck(3).snapshot(), "orders-2", CRITICAL),
        Sick(lambda: partitions_stuck(60).snapshot(), "topic orders", CRITICAL),
        Sick(lambda: text(_REPORTED), "x-0", CRITICAL),
    ],
    **leaderless_cases.SICK,
    "KFX105": [
        Sick(lambda: broker_ids_gone().snapshot(), "broker 4", CRITICAL),
        Sick(lambda: broker_ids_gone(address=True).snapshot(), "broker 4", CRITICAL),
    ],
    "KFX106": [
        Sick(lambda: coordinator_loading().snapshot(), "coordinator on broker 2", WARNING),
        Sick(lambda: coordinator_loading(20).snapshot(), "coordinator on broker 2", INFO),
        Sick(lambda: offsets_uncompacted(coordinator_loading()), "coordinator on broker 2", WARNING),
        Sick(lambda: offsets_uncompacted(coordinator_loading(), copy=1 << 20), "coordinator on broker 2", WARNING),
        Sick(lambda: changed(base(), broken_groups={"g2": (15, None)}).snapshot(), "coordinator on broker 2", CRITICAL),
        Sick(lambda: changed(base(), broken_groups={"g2": (0, -1)}).snapshot(), "coordinator on broker 2", CRITICAL),
        Sick(unasked_coordinator, "coordinator on broker 2", CRITICAL),
        Sick(lambda: unasked_coordinator("connection refused"), "coordinator on broker 2", CRITICAL),
    ],
    "KFX107": [
        Sick(lambda: text("Topic: x Partition: 0 Leader: none Replicas: 1,2 Isr: 2"), "ISR [2]", CRITICAL),
        Sick(lambda: text(f"{_LEADERLESS}\n{_LED.format(1, 2)}"), "broker 2 likely alive", CRITICAL),
        Sick(
            lambda: text(f"Topic: x PartitionCount: 2 Configs:\n{_LEADERLESS}\n{_LED.format(1, 3)}"),
            "broker 2 likely dead",
            CRITICAL,
        ),
    ],
    "KFX108": [Sick(pending_offsets, "producer id 4000", CRITICAL)],
    "KFX109": [Sick(offsets_not_loaded, "coordinator on broker 2", CRITICAL)],
    **group_cases.SICK,
    **created_cases.SICK,
    **disk_clusters.SICK,
    "KFX201": [
        Sick(lambda: metadata_divergence().snapshot(), str(G2), WARNING),
        Sick(
            lambda: changed(metadata_divergence(), registered={1: 9e4, 2: 9e4, 3: 9e4}, answering={2}).snapshot(),
            str(G2),
            WARNING,
        ),
    ],
    "KFX202": [
        Sick(lambda: changed(base(), controller=None).snapshot(), "/controller", CRITICAL),
        Sick(lambda: changed(base(), controller=7).snapshot(), "controller 7", CRITICAL),
        Sick(lambda: changed(base(), named_controller={1: 1}).snapshot(), "brokers' views", WARNING),
        Sick(lambda: changed(base(), notifications=40).snapshot(), "controller 3", WARNING),
        Sick(lambda: changed(base(), preferred_pending=True).snapshot(), "controller 3", WARNING),
        Sick(lambda: never_told().snapshot(), "controller 3", WARNING),
    ],
    "KFX203": [
        Sick(lambda: stale_view().snapshot(), "broker 1", CRITICAL),
        Sick(lambda: zone_isolated_with_leader().snapshot(), "broker 1", CRITICAL),
    ],
    "KFX204": [
        Sick(lambda: text(f"{_LED.format(1, 2)}\n{_LED.format(1, 3)}"), "outputs that contradict each other", WARNING),
    ],
    "KFX301": [
        Sick(lambda: base().kill(2).kill(3).snapshot(), "without brokers 2, 3", CRITICAL),
        Sick(lambda: old(Paper().topic("lone", 1, rf=1), min_isr=2).snapshot(), "replication factor", CRITICAL),
        Sick(lambda: changed(Paper().topic("lone", 1, rf=1), min_isr=2).snapshot(), "replication factor", WARNING),
        Sick(kraft_clusters.replicas_still_added, "replication factor", CRITICAL),
    ],
    "KFX302": [
        Sick(lambda: base().kill(3).snapshot(), "without broker 3", WARNING),
        Sick(lambda: base().kill(3, 12).snapshot(), "without broker 3", INFO),
        Sick(lambda: base().kill(3, 200).back(3, 9).snapshot(), "without broker 3", INFO),
        Sick(lambda: slow_follower().snapshot(), "without broker 3", WARNING),
    ],
    "KFX303": [Sick(lambda: offsets_rf1().snapshot(), f"topic {OFFSETS_TOPIC}", WARNING)],
    "KFX304": [
        Sick(lambda: base().kill(2).kill(3).snapshot(), "without brokers 2, 3", CRITICAL),
        Sick(lambda: old(offsets_rf1(), min_isr=2).snapshot(), "replication factor", CRITICAL),
        Sick(lambda: changed(offsets_rf1(), min_isr=2).snapshot(), "replication factor", WARNING),
        Sick(offsets_withheld, "without brokers 2, 3", CRITICAL),
    ],
    "KFX305": [
        Sick(lambda: packed_replicas().snapshot(), "replication factor 2", INFO),
        Sick(lambda: rack_packed(racks={1: "a", 2: "a", 3: "a", 4: "b"}).snapshot(), "rack a", WARNING),
    ],
    "KFX401": [
        Sick(lambda: base().kill(3).snapshot(), "broker 3", WARNING),
        Sick(lambda: base().kill(3, 12).snapshot(), "broker 3", INFO),
        Sick(lambda: base().kill(2, 12).kill(3, 12).snapshot(), "brokers 2, 3", WARNING),
        Sick(lambda: no_zookeeper(base().kill(3)).snapshot(), "broker 3", WARNING),
    ],
    "KFX402": [Sick(lambda: on_broker(2, base()).snapshot(), "broker 2", CRITICAL)],
    "KFX403": [Sick(lambda: zone_isolated_with_leader().snapshot(), "broker 1", CRITICAL)],
    "KFX404": [
        Sick(
            lambda: kraft_clusters.kraft().snapshot(
                quorum=kraft_clusters.quorum(fenced=None), memory=Memory(brokers={1: "h:1", 9: "h:9"})
            ),
            "broker 9",
            INFO,
        ),
        Sick(lambda: remembering(base().snapshot(), brokers={3: "h:1", 9: "h:9"}), "broker 9", INFO),
    ],
    "KFX501": [Sick(lambda: stuck_reassignment().snapshot(), "waits for broker 4", WARNING)],
    "KFX502": [Sick(lambda: deleting().kill(3).snapshot(), "topic old", WARNING)],
    **throttle_cases.SICK,
    **prevention_cases.SICK,
    "KFX801": [
        Sick(lambda: cut_clusters.seen_from(cut_clusters.link_cut()), "brokers 1 and 2", WARNING),
        Sick(cut_clusters.one_sided_link_cut, "brokers 1 and 2", WARNING),
    ],
    "KFX802": [
        Sick(cut_clusters.controller_link_cut, "broker 1", CRITICAL),
        Sick(lambda: cut_clusters.controller_link_cut(data_too=False), "broker 1", CRITICAL),
    ],
    "KFX803": [
        Sick(cut_clusters.zone_isolated, "broker 1", CRITICAL),
        Sick(lambda: cut_clusters.zone_isolated(known=False), "broker 1", CRITICAL),
        Sick(cut_clusters.zone_isolated_leading_nothing, "broker 1", WARNING),
    ],
    "KFX804": [Sick(cut_clusters.two_controllers, "broker 1", CRITICAL)],
    "KFX805": [
        Sick(cut_clusters.node_cut, "zookeeper zk-c:2181", WARNING),
        Sick(cut_clusters.node_dead, "zookeeper zk-c:2181", WARNING),
    ],
    "KFX806": [Sick(cut_clusters.quorum_lost, "zookeeper ensemble", CRITICAL)],
    "KFX807": [
        Sick(cut_clusters.controller_alone, "broker 3", WARNING),
        Sick(cut_clusters.broker_alone, "broker 1", WARNING),
    ],
    "KFX810": [Sick(cut_clusters.left_out, "broker 1", WARNING)],
    "KFX809": [
        Sick(cut_clusters.lost, "topic orders", WARNING),
        Sick(lambda: cut_clusters.lost(told=False), "topic orders", WARNING),
        Sick(lambda: cut_clusters.lost(committed=True), "topic orders", CRITICAL),
        Sick(cut_clusters.led_uncleanly, "topic orders", CRITICAL),
        Sick(lambda: cut_clusters.led_uncleanly(returned=True), "topic orders", WARNING),
    ],
    "KFX808": [
        Sick(lambda: cut_clusters.lagging(20, 20), "broker 2 stuck", WARNING),
        Sick(lambda: cut_clusters.lagging(20, 25), "broker 2 slow", WARNING),
        Sick(lambda: cut_clusters.lagging(20, 80), "broker 2 catching up", INFO),
    ],
    "KFX118": [Sick(kraft_clusters.coordinator_failed, "coordinator on broker 2", CRITICAL)],
    "KFX119": [
        Sick(kraft_clusters.eligible_dead, "eligible broker 2", CRITICAL),
        Sick(kraft_clusters.eligible_dead_and_unclean_allowed, "eligible broker 2, unclean elections on", CRITICAL),
        Sick(kraft_clusters.last_known_dead, "eligible broker 3", CRITICAL),
        Sick(kraft_clusters.two_eligible_dead, "eligible brokers 1, 2", CRITICAL),
        Sick(kraft_clusters.eligible_fenced, "eligible broker 2", CRITICAL),
        Sick(kraft_clusters.eligible_alive, "eligible broker 2", CRITICAL),
    ],
    "KFX120": [Sick(kraft_clusters.last_known_is_no_replica, "replicas on broker 2", CRITICAL)],
    **kraft_cases.SICK,
    "KFX811": [
        Sick(kraft_clusters.two_controllers_dead, "controller quorum", CRITICAL),
        Sick(kraft_clusters.controllers_apart, "controller quorum", CRITICAL),
        Sick(kraft_clusters.controllers_unreachable_and_nothing_moves, "controller quorum", CRITICAL),
    ],
    **quorum_cases.SICK,
    "KFX901": [
        Sick(lambda: unread_zookeeper().snapshot(), "zookeeper localhost:2181", INFO),
        Sick(
            lambda: changed(base(), failed={"bootstrap localhost:9099": "no answer"}).snapshot(),
            "bootstrap localhost:9099",
            INFO,
        ),
    ],
}


#: Nearly sick. The code must not come up; other codes may.
WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX101": [lambda: metadata_divergence().snapshot(), lambda: offsets_rf1().kill(3).snapshot()],
    "KFX102": [
        lambda: coordinator_stuck().snapshot(),
        lambda: isr_gone().snapshot(),
        lambda: base().kill(1).snapshot(),
    ],
    "KFX103": [lambda: coordinator_stuck().snapshot(), lambda: offsets_rf1().kill(3).snapshot()],
    "KFX104": [lambda: isr_gone().snapshot(), lambda: text("Topic: x Partition: 0 Leader: none Replicas: 1 Isr: 1")],
    "KFX105": [
        lambda: base().kill(3).snapshot(),
        # An empty broker that was there long before is a new, empty broker.
        lambda: changed(base(), registered={1: 9e4, 2: 9e4, 3: 9e4, 9: 9e6}).kill(3).snapshot(),
    ],
    "KFX106": [
        lambda: coordinator_stuck().snapshot(),
        # Refused for want of rights: it has answered.
        lambda: changed(base(), broken_groups={"g2": (0, 30), "pay": (30, None)}).snapshot(),
    ],
    "KFX107": [
        lambda: coordinator_stuck().snapshot(),
        lambda: text("Topic: x Partition: 0 Leader: 1 Replicas: 1 Isr: 1"),
    ],
    "KFX108": [lambda: base().snapshot(), offsets_not_loaded],
    "KFX109": [lambda: base().snapshot(), pending_offsets],
    **group_cases.WELL,
    **created_cases.WELL,
    **disk_clusters.WELL,
    "KFX201": [
        lambda: coordinator_stuck().snapshot(),
        lambda: stale_view().snapshot(),
        lambda: zone_isolated_with_leader().snapshot(),
        another_epoch_at_zookeeper,
        lambda: no_zookeeper(metadata_divergence()).snapshot(),
    ],
    "KFX202": [
        lambda: coordinator_stuck().snapshot(),
        # In KRaft every broker names a random live one.
        lambda: changed(no_zookeeper(base()), named_controller={1: 3, 2: 1, 3: 2}).snapshot(),
        lambda: base().kill(2).back(2, 20).snapshot(),
        # Back for an hour and in no isr, but it knows its partitions: slow, not forgotten.
        lambda: base().kill(2).back(2, 3600).snapshot(),
    ],
    "KFX203": [lambda: metadata_divergence().snapshot(), lambda: base().kill(1).snapshot()],
    "KFX204": [
        lambda: text(f"{_LED.format(1, 2)}\n{_LED.format(1, 2)}"),
        lambda: metadata_divergence().snapshot(),
    ],
    "KFX301": [
        lambda: base().kill(3).snapshot(),
        lambda: offsets_rf1().kill(3).snapshot(),
        lambda: capping(Paper().topic("lone", 1, rf=1), min_isr=2).snapshot(),
    ],
    "KFX302": [
        lambda: metadata_divergence().snapshot(),
        lambda: stuck_reassignment().snapshot(),
        lambda: base().kill(2).kill(3).snapshot(),
    ],
    "KFX303": [lambda: Paper((1,)).offsets(50, rf=1).snapshot(), lambda: base().kill(3).snapshot()],
    "KFX304": [
        lambda: base().kill(3).snapshot(),
        lambda: offsets_rf1().kill(3).snapshot(),
        lambda: capping(offsets_rf1(), min_isr=2).snapshot(),
    ],
    "KFX305": [
        lambda: rack_packed(racks={1: "a", 2: "b", 3: "a", 4: "b"}).snapshot(),
        lambda: rack_packed(racks=dict.fromkeys((1, 2, 3, 4), "a")).snapshot(),
        lambda: rack_packed(racks={1: "a", 2: "a", 4: "b"}).snapshot(),
    ],
    "KFX401": [
        lambda: zone_isolated_with_leader().snapshot(),
        lambda: on_broker(2, base()).snapshot(),
        lambda: text("Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1"),
    ],
    "KFX402": [
        lambda: base().kill(2).snapshot(),
        # Nobody answers: it is kfix that is cut off.
        lambda: changed(base(), answering=set(), silent={1: "x", 2: "x", 3: "x"}).snapshot(),
    ],
    "KFX403": [lambda: base().kill(1).snapshot(), lambda: no_zookeeper(base()).snapshot()],
    "KFX404": [
        # One that is dead and holds replicas is KFX401; one that is there is no riddle.
        lambda: remembering(base().kill(3).snapshot(), brokers={1: "h:1", 3: "h:3"}),
        # On Kafka 4 a dead broker stays registered: this one was unregistered.
        lambda: kraft_clusters.kraft().snapshot(
            quorum=kraft_clusters.quorum(fenced=()), memory=Memory(brokers={1: "h:1", 9: "h:9"})
        ),
    ],
    "KFX501": [lambda: base().kill(3).snapshot()],
    "KFX502": [lambda: deleting().snapshot()],
    **throttle_cases.WELL,
    **prevention_cases.WELL,
    "KFX801": [
        cut_clusters.slow_link,
        cut_clusters.one_moves,
        cut_clusters.throttled,
        lambda: cut_clusters.throttled(both=True),
        cut_clusters.slow_broker,
        cut_clusters.controller_link_cut,
        cut_clusters.zone_isolated,
        cut_clusters.broker_alone,
        lambda: base().kill(2, 200).back(2, 9).snapshot(),
        lambda: base().kill(1, 60).back(1, 20).snapshot(),
    ],
    "KFX802": [
        cut_clusters.link_cut,
        cut_clusters.told_nothing_yet,
        cut_clusters.controller_alone,
        cut_clusters.broker_alone,
        cut_clusters.two_controllers,
        lambda: metadata_divergence().snapshot(),
    ],
    "KFX803": [cut_clusters.two_controllers, cut_clusters.link_cut, lambda: base().kill(1).snapshot()],
    "KFX804": [cut_clusters.zone_isolated, cut_clusters.zone_isolated_leading_nothing],
    "KFX805": [
        cut_clusters.quorum_lost,
        lambda: base().snapshot(ensemble=cut_clusters.servers(a="leader", b="follower", c="follower")),
        # Who does not allow the question has answered.
        lambda: base().snapshot(
            ensemble=(
                *cut_clusters.servers(a="leader"),
                ZooKeeperNode("zk-b:2181", "", "srvr is not allowed there"),
            )
        ),
    ],
    "KFX806": [
        cut_clusters.node_cut,
        # Nobody answers us: that may be us.
        lambda: no_zookeeper(base(), Mode.ZOOKEEPER).snapshot(ensemble=cut_clusters.servers(a="-", b="-")),
    ],
    # One look tells nothing of a pace; a cut is told as a cut.
    "KFX118": [
        kraft_clusters.healthy,
        lambda: kraft_clusters.coordinator_failed(new=False),
        lambda: kraft_clusters.coordinator_failed(error=14),
    ],
    "KFX119": [kraft_clusters.healthy, kraft_clusters.nobody_eligible, kraft_clusters.last_known_is_no_replica],
    "KFX120": [kraft_clusters.healthy, kraft_clusters.eligible_dead, kraft_clusters.nobody_eligible],
    **kraft_cases.WELL,
    "KFX811": [
        kraft_clusters.healthy,
        kraft_clusters.one_controller_dead,
        kraft_clusters.controllers_unreachable_and_metadata_moves,
        kraft_clusters.controllers_unreachable_and_a_refusal,
        kraft_clusters.controllers_unreachable_and_read_twice_at_once,
        lambda: kraft_clusters.kraft().snapshot(),
    ],
    **quorum_cases.WELL,
    "KFX808": [cut_clusters.link_cut, lambda: slow_follower().snapshot(), cut_clusters.zone_isolated],
    "KFX810": [
        lambda: cut_clusters.rolling(3),
        lambda: cut_clusters.rolling(13),
        lambda: cut_clusters.left_out(age=5),
        lambda: cut_clusters.lagging(20, 20),
        lambda: slow_follower().snapshot(),
    ],
    "KFX809": [cut_clusters.led_on, cut_clusters.led_by_a_former_leader, cut_clusters.link_cut],
    "KFX807": [
        cut_clusters.slow_leader,
        cut_clusters.throttled,
        cut_clusters.slow_broker,
        cut_clusters.link_cut,
        cut_clusters.zone_isolated,
    ],
    "KFX901": [
        # A dead broker is no riddle, nor is a bootstrap address that may be its own.
        lambda: changed(
            base().kill(3), failed={"broker 3": "refused", "bootstrap localhost:9093": "refused"}
        ).snapshot(),
    ],
}
