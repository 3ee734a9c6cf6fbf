"""KFX202 controller: no controller, two controllers, or a controller that does not act.

Why it matters
    Without an acting controller nothing is elected, created, deleted or reassigned; the cluster works until the next
    broker dies. A controller that does only part of its work is worse than none, because no other broker takes over.

How kfix knows
    ZooKeeper mode only: /controller against the registrations; the controller that each broker names; pending work: a
    recorded leader that is gone, ISR notifications or a preferred election that no controller processes, a broker that
    came back and responds but is in no ISR and knows no partition, or that no broker knows any partition. Each is a
    sign only if it persists. In KRaft a broker names a random live broker as controller, by design: there this is never
    judged.

Remedies, safest first
    Recorded but not acting: restart that one broker; another one takes over within seconds. None: check ZooKeeper. Two:
    repair the network between ZooKeeper and the broker that names the old one; that broker then recovers by itself.

Do not
    Do not delete /controller by hand while a migration to KRaft is under way, and never without a check of its epoch.
    Do not trigger elections or reassignments while two controllers are named.

Sources
    Kafka 2.7.1: KafkaController; KAFKA-13407 (a controller that does not act). Reproduced on real brokers: a zone cut
    off with the controller in it. See docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, brokers_named, does, per_topic, several
from kfix_diagnostics._advice import diagnose_again, runbook
from kfix_diagnostics._bans import NO_MOVES, restart
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._explained import explained_by

#: Notifications are processed within milliseconds: a few may be in flight, this many are a backlog.
BACKLOG = 10
NEVER = (
    (
        "Do not delete /controller without a check of /controller_epoch in the same transaction, and never while a "
        "migration to KRaft is under way"
    ),
    "Do not trigger elections or reassignments before there is exactly one controller",
)


@ClusterCheck(
    severity=Severity.CRITICAL,
    rows="leader >= 0 and leaderless and n_live_isr > 0 and not deleting and not zk_lacks",
    scope=Scope.ZOOKEEPER,
)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    node = case.controller
    if node is None or not case.zookeeper_rules:
        return
    if node.broker is None:
        yield _missing(case, node.epoch)
    elif node.broker not in case.registrations:
        yield _not_registered(case, node.broker)
    else:
        yield from _idle(case, node.broker, rows)
    yield from _two(case, node.broker)


def _missing(case: CaseFile, epoch: int) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        obj="/controller",
        summary=f"the cluster has no controller: /controller does not exist (last epoch {epoch}). No leader is elected",
        cause=Cause("no broker managed to become controller", Confidence.CERTAIN),
        evidence=(Evidence(case.zookeeper_name, "/controller", "does not exist"), *live_row(case)),
        remedies=(
            diagnose_again(case, "Diagnose again: a controller is normally elected within seconds"),
            Remedy(
                "If it persists: search the brokers' logs for why they cannot create /controller (rights, sessions)"
            ),
        ),
        never=NEVER,
        forbids=(NO_MOVES,),
        token=str(epoch),
    )


def _not_registered(case: CaseFile, broker: int) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"controller {broker}",
        summary=f"/controller names broker {broker}, which is not registered",
        cause=Cause("its session has not expired yet, or a dead session still holds /controller"),
        evidence=(Evidence(case.zookeeper_name, "/controller", f"broker {broker}"), *live_row(case)),
        remedies=(
            diagnose_again(case, "Wait for the ZooKeeper session timeout (18 s, 6 s before 2.5), then diagnose again"),
            Remedy(f"If it persists: stop the process of broker {broker}, which ends the session"),
        ),
        never=NEVER,
        forbids=(NO_MOVES,),
        follows=explained_by((broker,), case),
        token=str(broker),
    )


def _two(case: CaseFile, recorded: int | None) -> Iterator[Finding]:
    named = grouped((view.controller, broker) for broker, view in case.views.items() if view.controller >= 0)
    astray = sorted(b for controller, brokers in named.items() if controller != recorded for b in brokers)
    if not astray or (len(named) == 1 and recorded is None):
        return
    said = ", ".join(f"{brokers_named(b)}: {c}" for c, b in sorted(named.items()))
    yield Finding(
        severity=Severity.INFO if all(case.restarting(b) for b in astray) else Severity.WARNING,
        obj="brokers' views",
        summary=f"brokers name different controllers ({said}); /controller names {recorded}",
        cause=Cause(
            f"{brokers_named(astray)} {does(len(astray))} not know the new controller: cut off from it or from "
            "ZooKeeper"
        ),
        evidence=(
            Evidence(case.zookeeper_name, "/controller", str(recorded)),
            *(Evidence(brokers_named(b), "controller", str(c)) for c, b in sorted(named.items())),
            *live_row(case),
        ),
        remedies=(
            Remedy(
                f"Repair the network of {brokers_named(astray)} and change nothing in Kafka: "
                f"{'it recovers by itself' if len(astray) == 1 else 'they recover by themselves'}"
            ),
        ),
        never=(NEVER[1],),
        forbids=(NO_MOVES,),
        follows=tuple(k for b in astray for k in (*explained_by((b,), case), f"KFX203:broker {b}")),
        token=said,
    )


def _idle(case: CaseFile, controller: int, rows: Rows) -> Iterator[Finding]:
    signs = tuple(_signs(case, controller, rows))
    if not signs:
        return
    yield Finding(
        obj=f"controller {controller}",
        summary=f"broker {controller} is the controller, but {several(len(signs), 'sign')} "
        f"{'shows' if len(signs) == 1 else 'show'} that it does not act",
        cause=Cause("it holds /controller but does not do the work (as in KAFKA-13407)", Confidence.POSSIBLE),
        evidence=signs,
        remedies=(
            diagnose_again(case, "Diagnose again: a busy controller catches up"),
            runbook(case, "controller-reelect", "Force the election of another controller: it reads all state again"),
            restart(f"Restart broker {controller} with a clean shutdown. Another takes over in seconds", controller),
        ),
        never=NEVER[:1],
        follows=explained_by((controller,), case),
        token=str(controller),
    )


def _signs(case: CaseFile, controller: int, rows: Rows) -> Iterator[Evidence]:
    stuck = [row.tp for row in rows]
    if stuck:
        yield Evidence(case.zookeeper_name, "recorded leader is gone, an in-sync replica is alive", per_topic(stuck))
    zookeeper = case.snapshot.zookeeper
    notifications = 0 if zookeeper is None else zookeeper.isr_notifications
    if notifications >= BACKLOG:
        yield Evidence(case.zookeeper_name, "/isr_change_notification", f"{notifications} notifications are pending")
    if zookeeper is not None and zookeeper.preferred_election_pending:
        yield Evidence(case.zookeeper_name, "/admin/preferred_replica_election", "is pending")
    for broker in _never_informed(case):
        if broker != controller:
            back = ago(case.back_for(broker))
            yield Evidence(
                f"broker {broker}",
                f"registered and responding, but {'' if case.nothing_known else 'in no ISR and '}knows no partition",
                f"back for {back}",
            )


def _never_informed(case: CaseFile) -> list[int]:
    """Returns brokers that came back longer ago than a restart takes, and that the controller has sent no partition.

    A broker that knows its partitions may just be slow. One that is in an ISR and knows none has stale metadata, unless
    no broker knows any: then the controller has sent no metadata at all.
    """
    old = {
        b
        for b in case.registrations.keys() & case.views.keys() & case.assigned
        if (case.back_for(b) or 0) > case.criteria.restart_grace and not case.views[b].partitions
    }
    for row in case.samples if old and not case.nothing_known else ():
        old -= set(case.isr(row.tp))
        if not old:
            break
    return sorted(old)
