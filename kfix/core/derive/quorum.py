"""Whether a KRaft cluster has an active controller, from the reports of its controllers and brokers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.snapshot.quorum import ControllerAnswer, QuorumView
from kfix.core.snapshot.snapshot import BrokerView, ControllerNode, Snapshot, ZooKeeperView

#: In seconds. An active controller writes every 0.5 s, and a broker applies that at once.
_STANDS_STILL = 0.6
#: Part of the name of every error of an authorizer.
_REFUSED = "AUTHORIZATION_FAILED"


def quorum_lost(view: QuorumView) -> bool:
    """Returns whether no controller is active. Controllers that cannot be reached from here prove nothing.

    Either every voter was asked, and each is absent or answers that it is not the active one. Or the request that a
    broker forwards gets no answer, and no broker applies any metadata, which an active controller writes twice a
    second. A refusal is an answer, maybe of the active controller.
    """
    if view.read or view.advancing:
        return False
    unanswered = bool(view.forwarded) and _REFUSED not in view.forwarded
    stands_still = view.advancing is False and view.apart >= _STANDS_STILL and unanswered
    addresses = {each.address for each in view.controllers}
    voters = set(view.configured.values())
    settled = bool(voters) and voters <= addresses and all(each.answered or each.refused for each in view.controllers)
    return stands_still or settled


def fresh_views(views: Mapping[int, BrokerView], quorum: QuorumView | None) -> Mapping[int, BrokerView]:
    """Returns the views that are not known to be older; all of them if none is newer."""
    if quorum is None:
        return views
    fresh = {b: view for b, view in views.items() if not quorum.stale(b)}
    return fresh or views


def listed_alive(views: Mapping[int, BrokerView], quorum: QuorumView | None) -> frozenset[int] | None:
    """Returns the brokers that most views list as alive, on KRaft the unfenced ones; None if no view lists any.

    A view with older metadata does not count: it lists dead brokers as alive, and itself.
    """
    lists = [set(view.alive) for view in fresh_views(views, quorum).values() if view.alive]
    if not lists:
        return None
    votes = Counter(broker for alive in lists for broker in alive)
    return frozenset(b for b, n in votes.items() if 2 * n > len(lists))


def answering(view: QuorumView) -> tuple[ControllerAnswer, ...]:
    return tuple(each for each in view.controllers if each.answered)


def not_answering(view: QuorumView) -> tuple[ControllerAnswer, ...]:
    return tuple(each for each in view.controllers if not each.answered)


def majority(voters: int) -> int:
    """Returns how many of the voters have to be alive for an active controller."""
    return voters // 2 + 1


def absence(view: QuorumView, broker: int) -> float | None:
    """Returns the seconds since the broker last fetched metadata, None if the controller no longer knows it.

    The controller forgets an observer 5 minutes after its last fetch, and at each change of the active controller.
    """
    ages = [each.fetched for each in (*view.observers, *view.voters) if each.node == broker and each.fetched >= 0]
    return min(ages) if ages else None


# A migration from ZooKeeper to KRaft: its step, and the brokers that it waits for (docs/facts/zookeeper.md).

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
