"""KFX819 migration-stuck: a migration from ZooKeeper to KRaft is under way or half finished.

Why it matters
    The KRaft controller takes over only when every broker has registered with it; until then it waits, without a limit.
    From then on it is in charge, and copies its decisions to ZooKeeper. Each step is meant to last for hours, not for
    months: a broker that is started with the wrong settings in between knows no other broker, and Kafka 4 does not
    support ZooKeeper.

How kfix knows
    ZooKeeper has `/migration` since a KRaft controller was first started for the migration, and `/controller` names
    that controller once it has taken over. Each broker reports its settings, and the active controller reports which
    brokers fetch from it. A controller that still has the settings of the migration reports that. If kfix reads a
    broker on KRaft, it does not ask ZooKeeper, and the beginning of the step is unknown.

Remedies, safest first
    Complete the step: give the brokers that are named the settings of the migration, one after the other. Once the
    KRaft controller has taken over, restart the brokers on KRaft, and then the controllers without the migration.

Do not
    Do not delete `/controller` or `/migration`, and do not base changes on what ZooKeeper records: deleting them is a
    step of the rollback to ZooKeeper, which has its own order. After the controllers have been restarted without the
    migration, there is no way back.

Sources
    Kafka 3.9.2: each step made with real brokers, forward and back; KIP-866. See docs/facts/zookeeper.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.derive.quorum import Migration, Step, migration_of
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, are, brokers_named, has, several
from kfix_diagnostics.quorum._controllers import controller_rows

#: Seconds for which the KRaft controller may wait before it takes over, while every broker fetches from it.
_LONG = 3600.0
_SETTINGS = (
    "zookeeper.metadata.migration.enable=true, controller.quorum.bootstrap.servers or controller.quorum.voters, and "
    "controller.listener.names"
)


@ClusterCheck(debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    found = migration_of(case.snapshot)
    if found is None:
        return
    young = found.since is not None and found.since < _LONG
    held = found.step is not Step.WAITING or found.waits_for or found.registered is None
    yield Finding(
        severity=Severity.INFO if young and not held else Severity.WARNING,
        obj="migration to KRaft",
        summary=_summary(found, case),
        cause=_cause(found),
        evidence=tuple(_rows(found, case)),
        remedies=tuple(_remedies(found)),
        never=tuple(_never(found)),
        lasted=-1.0 if found.since is None else found.since,
    )


def _summary(found: Migration, case: CaseFile) -> str:
    when = "" if found.since is None else f" for {ago(found.since)}"
    if found.step is Step.WAITING:
        return (
            f"a migration to KRaft has been waiting{when}: {_waiting(found)}. ZooKeeper's controller is still in charge"
        )
    if found.step is Step.TAKEN_OVER:
        zookeeper = case.snapshot.zookeeper
        node = "" if zookeeper is None or zookeeper.controller.broker is None else f" {zookeeper.controller.broker}"
        without = f"; {_without(found)}" if found.unprepared else ""
        return (
            f"a migration to KRaft is half finished: KRaft controller{node} has been in charge{when}, and no broker "
            f"that was read runs on KRaft{without}"
        )
    if found.step is Step.MIXED:
        total = len(found.on_kraft) + len(found.on_zookeeper) + len(found.unread)
        unread = f"; of {brokers_named(found.unread)} that is unknown" if found.unread else ""
        return (
            f"a migration to KRaft is half finished: {len(found.on_kraft)} of {several(total, 'broker')} "
            f"{are(len(found.on_kraft))} on KRaft, {brokers_named(found.on_zookeeper)} still on ZooKeeper{unread}. "
            "The KRaft controller is in charge"
        )
    unread = f"; the settings of {brokers_named(found.unread)} are unknown" if found.unread else ""
    return (
        f"a migration to KRaft is not finished: brokers run on KRaft, and the controllers still write ZooKeeper{unread}"
    )


def _waiting(found: Migration) -> str:
    if found.waits_for:
        return f"{brokers_named(found.waits_for)} {has(len(found.waits_for))} not registered with the KRaft controller"
    if found.registered is None:
        return "no active KRaft controller answers, so which brokers have registered with it is unknown"
    unread = f", as far as kfix could read them; {brokers_named(found.unread)} did not report" if found.unread else ""
    return f"all brokers fetch from the KRaft controller{unread}"


def _without(found: Migration) -> str:
    one = len(found.unprepared) == 1
    return (
        f"{brokers_named(found.unprepared)} {'runs' if one else 'run'} without the settings of the migration and "
        f"{'receives' if one else 'receive'} no changes"
    )


def _cause(found: Migration) -> Cause:
    if found.step is not Step.WAITING:
        return Cause("the migration is under way, or was not finished", Confidence.CERTAIN)
    if found.absent:
        return Cause(
            f"{brokers_named(found.absent)} {has(len(found.absent))} replicas and {are(len(found.absent))} not alive: "
            "the KRaft controller waits for every broker that has a replica"
        )
    if found.unprepared:
        verb = "lacks" if len(found.unprepared) == 1 else "lack"
        return Cause(f"{brokers_named(found.unprepared)} {verb} the settings of the migration", Confidence.CERTAIN)
    if found.strangers:
        return Cause(
            f"{brokers_named(found.strangers)} cannot reach the KRaft controller: the network, or another address in "
            "the settings"
        )
    if found.registered is None:
        return Cause("no KRaft controller is active, or kfix does not know its address", Confidence.POSSIBLE)
    return Cause("the KRaft controller is about to take over, or its log shows why it does not", Confidence.POSSIBLE)


def _rows(found: Migration, case: CaseFile) -> Iterator[Evidence]:
    zookeeper = case.snapshot.zookeeper
    if zookeeper is not None:
        node, at = zookeeper.controller, zookeeper.migrating_since_ms
        age = case.snapshot.taken_at - at / 1000 if at else None
        yield Evidence("zookeeper", "/migration", "exists" if at else "does not exist", age)
        yield Evidence("zookeeper", "/controller", f"brokerid {node.broker}, kraftControllerEpoch {node.kraft_epoch}")
    for brokers, what in (
        (found.on_kraft, "on KRaft"),
        (found.prepared, "with ZooKeeper and the settings of the migration"),
        (found.unprepared, "with ZooKeeper, without the settings of the migration"),
        (found.unread, "settings not read"),
        (found.absent, "a replica and no registration in ZooKeeper"),
    ):
        if brokers:
            yield Evidence(brokers_named(brokers), "settings", what)
    if found.quorum is not None:
        yield from controller_rows(found.quorum)
        if found.quorum.migrating:
            where = ", ".join(found.quorum.migrating)
            yield Evidence(where, "ApiVersions", "has the settings of the migration from ZooKeeper")
    if found.registered is not None and found.quorum is not None:
        names = brokers_named(found.registered)
        yield Evidence(f"controller {found.quorum.leader}", "brokers that fetch from it", names)


def _remedies(found: Migration) -> Iterator[Remedy]:
    if found.step is Step.WAITING:
        yield from _to_register(found)
        yield Remedy(
            "Or roll the migration back while ZooKeeper's controller is in charge: stop the KRaft controllers, then "
            "delete /migration, then restart the brokers without the settings of the migration"
        )
        return
    if found.unprepared:
        yield Remedy(f"First restart {brokers_named(found.unprepared)} with the settings of the migration: {_SETTINGS}")
    if found.step is Step.UNFINISHED:
        yield Remedy(
            "When a rollback to ZooKeeper is no longer wanted: restart the controllers without "
            "zookeeper.metadata.migration.enable and zookeeper.connect, one after the other, the active one last. "
            "Then ZooKeeper can be stopped"
        )
        return
    left = f"the brokers still on ZooKeeper ({brokers_named(found.on_zookeeper)})" if found.on_zookeeper else "brokers"
    yield Remedy(
        f"Restart {left} on KRaft, one after the other, each once the previous one is back in every ISR. Set "
        "process.roles=broker, set node.id to the old broker.id, and remove zookeeper.connect and "
        "zookeeper.metadata.migration.enable"
    )


def _to_register(found: Migration) -> Iterator[Remedy]:
    if found.absent:
        yield Remedy(
            f"Start {brokers_named(found.absent)} with the settings of the migration, or move the replicas elsewhere "
            "before the migration"
        )
    if found.unprepared:
        yield Remedy(
            f"Restart {brokers_named(found.unprepared)} with the settings of the migration"
            f"{', one after the other' if len(found.unprepared) > 1 else ''}: {_SETTINGS}"
        )
    if found.strangers:
        yield Remedy(f"Repair the connection of {brokers_named(found.strangers)} to the KRaft controllers")
    if found.registered is None:
        yield Remedy("Start the KRaft controllers, or give their addresses to kfix (--bootstrap-controller)")


def _never(found: Migration) -> Iterator[str]:
    order = (
        "stop the KRaft controllers first"
        if found.step is Step.WAITING
        else "a rollback to ZooKeeper has its own order, with brokers and controllers first"
    )
    yield f"Do not delete /controller or /migration in ZooKeeper: {order}"
    if found.step is Step.WAITING:
        yield "Do not switch ZooKeeper off: it has the only record of the cluster"
        return
    yield "Do not base a change on what ZooKeeper records: it is a copy that the KRaft controller overwrites"
    if found.step is Step.UNFINISHED:
        yield "Do not restart the controllers without the migration while a rollback to ZooKeeper is possible"
        return
    yield (
        "Do not start a broker on ZooKeeper without the settings of the migration: it would not know any other broker"
    )
    yield "Do not format a broker's disk again when you restart it on KRaft"
