"""A2: the offsets topic has replication factor 1, and a broker that holds some of it dies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kfix.errors import UsageError
from kfix.lab.groups import COORDINATOR_NOT_AVAILABLE
from kfix.lab.incidents.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.coordinator import OFFSETS_TOPIC
from kfix.model.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage


def run(stage: Stage) -> Broken:
    groups = stage.content()
    holders = _place(stage)
    stage.wait_groups(groups, groups.by_partition)
    victim = _victim(stage, holders)
    lost = sorted(number for number, broker in holders.items() if broker == victim)
    stage.kill(victim)
    for number in lost:
        state = stage.wait_state(OFFSETS_TOPIC, number, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
        stage.require(state.isr == (victim,), f"the isr of {OFFSETS_TOPIC}-{number} is [{victim}]")
    stage.wait_groups(groups, [number for number in groups.by_partition if number not in lost])
    for broker in stage.access.live_ids():
        wait_for(
            f"broker {broker} knows no coordinator for {groups.by_partition[lost[0]]}",
            lambda via=broker: groups.coordinator(lost[0], via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
            15,
        )
    stuck = [groups.by_partition[number] for number in lost]
    stage.say(f"checked: groups {', '.join(stuck)} have no coordinator, the other {len(holders) - len(lost)} work")
    return stage.broken(
        INCIDENT.name,
        (f"consumers of groups {', '.join(stuck)} wait for ever", *INCIDENT.expect),
        group=stuck[0],
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number) for number in lost],
        dead=[victim],
    )


def _place(stage: Stage) -> dict[int, int]:
    chosen = stage.ints_option("brokers")
    unknown = [broker for broker in chosen if broker not in stage.ids()]
    if unknown:
        raise UsageError(f"option brokers: no broker {unknown[0]}", hint=f"brokers: {list(stage.ids())}")
    # Where nothing is asked for, each partition stays with its leader: no record moves.
    holders = {
        number: chosen[number % len(chosen)] if chosen else stage.live_state(OFFSETS_TOPIC, number).leader
        for number in stage.access.assignment(OFFSETS_TOPIC)
    }
    stage.reassign({TopicPartition(OFFSETS_TOPIC, number): (broker,) for number, broker in holders.items()})
    return holders


def _victim(stage: Stage, holders: dict[int, int]) -> int:
    wanted = stage.int_option("kill")
    if wanted is not None and wanted not in holders.values():
        raise UsageError(
            f"option kill={wanted}: holds no offsets partition", hint=f"these do: {sorted(set(holders.values()))}"
        )
    controller = stage.access.controller()
    counts = Counter(holders.values())
    # Rather not the controller: its death is another story, and slower.
    return wanted if wanted is not None else max(counts, key=lambda broker: (broker != controller, counts[broker]))


INCIDENT = Incident(
    name="offsets-rf1",
    title="A2: the offsets topic has replication factor 1 and one of its brokers dies",
    does="Reassigns every offsets partition to a single replica, then kills a broker that holds some.",
    expect=(
        "groups of the other offsets partitions work, topics are whole",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    run=run,
    options={
        "brokers": "where the single replicas go, like 1,2 (default: each stays with its leader)",
        "kill": "which broker dies (default: the one that holds most, rather not the controller)",
    },
)
