"""What the proofs run over: every shipped runbook's test that heals, and scenarios in which a run is longer than there.

Moves take time here, so that a run can be killed in the middle of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.prepared import PreparedIncident
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.model.runbook import RawValue, Runbook
from tests import shipped

RUNBOOKS: Mapping[str, Runbook] = shipped.runbooks()
Moves = tuple[tuple[TopicPartition, tuple[int, ...]], ...]

#: A partition of these clusters is 10 kB: a copy takes some looks.
RATE = "4KB/s"
#: Longer than one look of a run, shorter than its patience.
COPY_SECONDS = 3.0


def _as_it_is(_cluster: MemoryCluster) -> None:
    """Nothing happens to it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`prepare` is what else is wrong, before the plan; `at_the_gate` what a person does when told to do something.

    The first calls of the methods in `swallows` are accepted, and nothing happens: the run climbs on.
    """

    name: str
    runbook: str
    incident: str
    params: Mapping[str, RawValue] = field(default_factory=dict)
    moves: Moves = ()
    prepare: Callable[[MemoryCluster], None] = _as_it_is
    swallows: tuple[str, ...] = ()
    at_the_gate: Callable[[MemoryCluster], None] = _as_it_is

    def begin(self) -> PreparedIncident:
        incident = INCIDENTS[self.incident]()
        if not incident.cluster.copy_seconds:
            incident.cluster.copy_seconds = COPY_SECONDS
        self.prepare(incident.cluster)
        for method in self.swallows:
            incident.cluster.faults.answer(method, ChangeResult(0, "NONE"))
        return incident

    def __str__(self) -> str:
        return self.name


def _shipped() -> list[Scenario]:
    found = []
    for runbook in RUNBOOKS.values():
        healing = [t for t in runbook.tests if t.expect.healed]
        for number, test in enumerate(healing):
            name = runbook.id if number == 0 else f"{runbook.id}: {test.name}"
            slow = {"throttle": RATE} if "throttle" in runbook.params else {}
            found.append(Scenario(name, runbook.id, test.cluster, {**test.params, **slow}))
    return found


def _throttled(cluster: MemoryCluster) -> None:
    """Somebody's throttles are there already: on one side of a broker, and on one replica of the topic."""
    cluster.brokers[1].configs["leader.replication.throttled.rate"] = "1000"
    cluster.brokers[3].configs["follower.replication.throttled.rate"] = "2000"
    cluster.records.topic_configs["orders"]["leader.replication.throttled.replicas"] = "0:1"


def _preferred_is_the_phantom(cluster: MemoryCluster) -> None:
    """So another replica must be put first, and afterwards last again."""
    tp = TopicPartition("__consumer_offsets", 13)
    first = cluster.records.assignments[tp].replicas[0]
    cluster.phantom_leader(tp, leader=first)


def _revive(*brokers: int) -> Callable[[MemoryCluster], None]:
    def act(cluster: MemoryCluster) -> None:
        for broker in brokers:
            if not cluster.brokers[broker].alive:
                cluster.revive(broker)

    return act


_GIVEN: Moves = (
    (TopicPartition("orders", 0), (3, 4)),
    (TopicPartition("orders", 1), (2, 3)),
    (TopicPartition("orders", 2), (1, 2, 4)),
)

_MAILER, _FAILS = "mailer", TopicPartition("orders", 0)


def _consumers_run(cluster: MemoryCluster) -> None:
    """The group has members, and more records wait behind the one that is skipped."""
    cluster.members.add(_MAILER)
    for broker in cluster.brokers:
        cluster.logs.write(_FAILS, broker, LogEnd(0, 100), 0)


def _stops_or_reads_on(cluster: MemoryCluster) -> None:
    if _MAILER in cluster.members:
        cluster.members.discard(_MAILER)
    else:
        cluster.committed[_MAILER][_FAILS] = StoredOffset(50, 0)


_LONGER = (
    Scenario(
        "skip a record, consumers stopped",
        "skip-record",
        "group-falls-behind",
        dict(RUNBOOKS["skip-record"].tests[0].params),
        prepare=_consumers_run,
        at_the_gate=_stops_or_reads_on,
    ),
    Scenario("ladder of two rungs", "coordinator-stuck", "coordinator-stuck-of-two-replicas", swallows=("reassign",)),
    Scenario(
        "ladder of three rungs",
        "coordinator-stuck",
        "coordinator-stuck-of-two-replicas",
        swallows=("reassign", "elect"),
    ),
    Scenario(
        "coordinator led from elsewhere",
        "coordinator-not-answering",
        "coordinator-silent",
        prepare=_preferred_is_the_phantom,
        swallows=("reassign",),
    ),
    Scenario(
        "min isr after the goal",
        "raise-offsets-rf",
        "offsets-rf1-all-alive",
        {"min_isr": 2, "batch": 12, "throttle": RATE},
    ),
    Scenario(
        "over others' throttles",
        "raise-topic-rf",
        "weak-topic",
        {"topic": "orders", "batch": 2, "throttle": RATE},
        prepare=_throttled,
    ),
    Scenario("given moves", "move-replicas", "replicas-in-one-rack", {"batch": 2, "throttle": RATE}, _GIVEN),
    Scenario("isr dead, brought back", "isr-dead", "isr-gone", at_the_gate=_revive(1)),
    Scenario("under min isr, brought back", "under-min-isr", "under-min-isr", at_the_gate=_revive(2, 3)),
)

#: What the tests of the runbooks themselves do not heal on KRaft, or in long runs; the kills go through these, too.
_ON_KRAFT = (
    Scenario("abort-transaction on KRaft", "abort-transaction", "pending-offsets-kraft"),
    Scenario("end-hanging-transaction on KRaft", "end-hanging-transaction", "transaction-marker-lost-kraft"),
    Scenario(
        "evict-member on KRaft", "evict-member", "rebalance-held-kraft", {"group": "payments", "member": "slow-1"}
    ),
    Scenario("isr-dead on KRaft", "isr-dead", "eligible-waits", at_the_gate=_revive(2, 1)),
    Scenario("move-replicas on KRaft", "move-replicas", "replicas-in-one-rack-kraft", {"throttle": RATE}, _GIVEN),
    Scenario(
        "raise-topic-rf on KRaft",
        "raise-topic-rf",
        "weak-topic-kraft",
        {"topic": "orders", "batch": 12, "throttle": RATE},
    ),
    Scenario("restore-offsets on KRaft", "restore-offsets", "offsets-not-loaded-kraft"),
    Scenario("under-min-isr on KRaft", "under-min-isr", "under-min-isr-kraft", at_the_gate=_revive(2, 3)),
)

SHIPPED: Mapping[str, Scenario] = {scenario.name: scenario for scenario in _shipped()}
SCENARIOS: Mapping[str, Scenario] = {**SHIPPED, **{scenario.name: scenario for scenario in _LONGER}}


def is_on_kraft(scenario: Scenario) -> bool:
    return isinstance(scenario.begin().cluster, MemoryKraftCluster)


#: {runbook: its scenario on KRaft}.
ON_KRAFT: Mapping[str, Scenario] = {
    **{each.runbook: each for each in SCENARIOS.values() if is_on_kraft(each)},
    **{each.runbook: each for each in _ON_KRAFT},
}
