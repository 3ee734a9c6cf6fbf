"""A migration from ZooKeeper to KRaft: its step, and the brokers that it waits for (docs/facts/zookeeper.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import ControllerNode, Snapshot, ZooKeeperView

#: Settings of a broker on KRaft, of one with ZooKeeper, and of one that is ready for the migration.
_ROLES, _ZOOKEEPER, _MIGRATES = "process.roles", "zookeeper.connect", "zookeeper.metadata.migration.enable"


class Step(StrEnum):
    """The progress of a migration.

    - WAITING: the KRaft controller waits for brokers, and ZooKeeper's controller decides
    - TAKEN_OVER: the KRaft controller decides and writes ZooKeeper, too
    - MIXED: some brokers run on KRaft
    - UNFINISHED: all of them do, and the controllers still write ZooKeeper
    """

    WAITING = "waiting"
    TAKEN_OVER = "taken over"
    MIXED = "mixed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Migration:
    """`since` is the number of seconds since the step began, None if it is unknown.

    `prepared` have the settings of the migration, `unprepared` do not; of `unread` brokers the settings are unknown.
    `absent` hold replicas and are not registered in ZooKeeper. `registered` are the brokers that fetch from the KRaft
    controller, None if no controller is known to be active. `quorum` is None if no controller was asked.
    """

    step: Step
    since: float | None
    prepared: tuple[int, ...] = ()
    unprepared: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    on_kraft: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    registered: frozenset[int] | None = None
    quorum: QuorumView | None = None

    @property
    def strangers(self) -> tuple[int, ...]:
        """Returns the brokers that have the settings and do not fetch from the KRaft controller."""
        return () if self.registered is None else tuple(b for b in self.prepared if b not in self.registered)

    @property
    def waits_for(self) -> tuple[int, ...]:
        """Returns the brokers that have certainly not registered with the KRaft controller."""
        return tuple(sorted({*self.unprepared, *self.absent, *self.strangers}))

    @property
    def on_zookeeper(self) -> tuple[int, ...]:
        return tuple(sorted({*self.prepared, *self.unprepared}))


def migration_of(snapshot: Snapshot) -> Migration | None:
    """Returns the migration that is in progress or half finished; None if nothing shows one."""
    if snapshot.zookeeper is not None and snapshot.zookeeper.migrating:
        return _by_zookeeper(snapshot, snapshot.zookeeper)
    if snapshot.quorum is None:
        return None
    kraft, prepared, unprepared = _sides(snapshot.broker_configs)
    if prepared or unprepared:
        step = Step.MIXED
    elif kraft and snapshot.quorum.migrating:
        step = Step.UNFINISHED
    else:
        return None
    return Migration(
        step,
        None,
        prepared,
        unprepared,
        unread=_unread(snapshot, snapshot.views.keys() | snapshot.silent.keys()),
        on_kraft=kraft,
        registered=_registered(snapshot.quorum),
        quorum=snapshot.quorum,
    )


def _by_zookeeper(snapshot: Snapshot, view: ZooKeeperView) -> Migration:
    _, prepared, unprepared = _sides(snapshot.broker_configs)
    taken_over = view.controller.is_kraft
    began_ms = view.controller.elected_ms if taken_over else view.migrating_since_ms
    holding = {b for each in view.assignments.values() for b in each.replicas}
    return Migration(
        Step.TAKEN_OVER if taken_over else Step.WAITING,
        max(snapshot.taken_at - began_ms / 1000, 0.0) if began_ms else None,
        prepared,
        unprepared,
        unread=_unread(snapshot, view.registrations.keys()),
        absent=tuple(sorted(holding - view.registrations.keys())),
        registered=_registered(snapshot.migration),
        quorum=snapshot.migration,
    )


def _sides(settings: Mapping[int, Mapping[str, str]]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Returns the brokers on KRaft, and those with ZooKeeper with and without the settings of the migration."""
    kraft = {b for b, each in settings.items() if each.get(_ROLES)}
    zookeeper = {b for b, each in settings.items() if each.get(_ZOOKEEPER)} - kraft
    prepared = {b for b in zookeeper if settings[b].get(_MIGRATES) == "true"}
    return tuple(sorted(kraft)), tuple(sorted(prepared)), tuple(sorted(zookeeper - prepared))


def _unread(snapshot: Snapshot, brokers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(b for b in brokers if not snapshot.broker_configs.get(b)))


def _registered(quorum: QuorumView | None) -> frozenset[int] | None:
    return frozenset(each.node for each in quorum.observers) if quorum is not None and quorum.read else None


def why_unchanged(controller: ControllerNode) -> str:
    """Returns why nothing may be changed through ZooKeeper's record; empty if no KRaft controller owns it.

    That controller writes ZooKeeper after its own log, so the record may be behind. It is no broker, and a deleted
    `/controller` would be a step of the way back to ZooKeeper.
    """
    if not controller.is_kraft:
        return ""
    return (
        f"KRaft controller {controller.broker} has taken over (kraftControllerEpoch {controller.kraft_epoch} in "
        "/controller): a migration from ZooKeeper to KRaft is under way, and kfix changes nothing by what ZooKeeper "
        "records. Once a broker runs on KRaft, give its address (--bootstrap-server)"
    )
