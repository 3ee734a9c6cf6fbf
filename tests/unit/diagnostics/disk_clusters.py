"""Clusters on paper in which a log directory of broker 2 failed: the broker is alive, its replicas are offline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import LogEnd, Snapshot, TopicPartition
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.kraft_clusters import kraft, quorum
from tests.unit.diagnostics.sick import Sick

LOGS = TopicPartition("logs", 0)
_FAILED = LogEnd(-1, -1, "KAFKA_STORAGE_ERROR")


def offline(snapshot: Snapshot, broker: int, tps: Iterable[TopicPartition], by: Iterable[int] = ()) -> Snapshot:
    """Returns the snapshot in which these brokers, or all, report the replicas of a broker as offline."""
    wanted, reporting = set(tps), set(by) or snapshot.views.keys()
    views = {
        b: replace(
            view,
            partitions={
                tp: each._replace(offline=tuple(sorted({*each.offline, broker}))) if tp in wanted else each
                for tp, each in view.partitions.items()
            },
        )
        if b in reporting
        else view
        for b, view in snapshot.views.items()
    }
    return replace(snapshot, views=views)


def only_in_sync(*isr: int, dead: tuple[int, ...] = (), asked: bool = True) -> Snapshot:
    """Partition logs-0 on [2, 1, 3] has no leader and this ISR, with broker 2."""
    paper = base().topic("logs", 1, replicas=[[2, 1, 3]])
    for broker in dead:
        paper.kill(broker)
    paper.parts[LOGS].write(leader=-1, isr=isr or (2,), age=600)
    made = offline(paper.snapshot(), 2, [LOGS])
    return replace(made, log_ends={LOGS: {2: _FAILED, 1: LogEnd(0, 90)}}) if asked else made


def only_eligible(*, last_known: bool = False) -> Snapshot:
    """Kafka 4: the ISR is empty, and broker 2 alone may lead without a loss, or led last."""
    paper = kraft(base().topic("logs", 1, replicas=[[2, 1]]))
    part = paper.parts[LOGS]
    part.leader, part.isr, part.epoch = -1, (), part.epoch + 1
    found = EligibleLeaders(() if last_known else (2,), (2,))
    return offline(paper.snapshot(quorum=quorum(eligible={LOGS: found})), 2, [LOGS])


def led_by_others(topic: str = "logs") -> Snapshot:
    """Broker 1 leads logs-0; broker 2 left its ISR."""
    paper = base().topic(topic, 1, replicas=[[2, 1, 3]])
    paper.part(topic, 0).write(leader=1, isr=(1, 3), age=600)
    return offline(paper.snapshot(), 2, [TopicPartition(topic, 0)])


def shutting_down() -> Snapshot:
    """Every replica of broker 2 is offline, as in a controlled shutdown; others lead."""
    paper = base()
    for part in paper.parts.values():
        rest = tuple(b for b in part.isr if b != 2)
        part.write(leader=rest[0], isr=rest, age=5)
    return offline(paper.snapshot(), 2, paper.parts)


def unnoticed_return() -> Snapshot:
    """Broker 2 is registered again, and the controller has not acted on it: no broker lists it as alive."""
    paper = base().topic("logs", 1, replicas=[[2, 1, 3]])
    paper.parts[LOGS].write(leader=-1, isr=(2,), age=600)
    made = offline(paper.snapshot(), 2, [LOGS])
    views = {b: replace(v, alive={k: at for k, at in v.alive.items() if k != 2}) for b, v in made.views.items()}
    return replace(made, views=views)


SICK: dict[str, list[Sick]] = {
    "KFX406": [
        Sick(only_in_sync, "broker 2", Severity.CRITICAL),
        Sick(only_eligible, "broker 2", Severity.CRITICAL),
        Sick(led_by_others, "broker 2", Severity.WARNING),
    ],
}
WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX406": [
        lambda: base().kill(2).snapshot(),
        shutting_down,
        unnoticed_return,
        lambda: offline(base().snapshot(), 2, [TopicPartition("orders", 0)], by=[1]),
    ],
}
