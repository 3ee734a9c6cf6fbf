"""KFX202 controller: there is none, there are two, or the one that is named does not act.

Why it matters
    Without an acting controller nothing is elected, created, deleted or reassigned any more; the cluster works on until
    the next broker dies. A controller that is only half there is worse than none, since nobody takes over.

How kfix knows
    ZooKeeper mode only: /controller against the registrations; the controller each broker names; work that waits: a
    leader that is gone and still recorded, isr notifications or a preferred election nobody takes, a broker that came
    back, answers, is in no isr and was told of no partition. Each is taken for a sign only if it lasts. In KRaft a
    broker names a random live broker as controller, by design: there this is never judged.

What helps
    Named but not acting: restart that one broker; another one takes over in seconds. None: look at ZooKeeper. Two: mend
    the network between the broker that names the old one and ZooKeeper; it follows by itself.

What not to do
    Do not delete /controller by hand while a migration to KRaft is under way, and never without a check of its epoch.
    No elections and no reassignments while two controllers are named.

Sources
    Kafka 2.7.1: KafkaController; KAFKA-13407 (a controller that is not acting). Seen on real brokers: a zone cut off
    with the controller in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import look_again
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._explained import explained_by
from kfix_diagnostics._words import ago, count, per_topic

CODE = "KFX202"
#: Notifications are taken within milliseconds; a handful may be on the way, so many are a backlog.
BACKLOG = 10
NEVER = (
    (
        "do not delete /controller without a check of /controller_epoch in the same transaction, and never while a "
        "migration to KRaft is under way"
    ),
    "no elections and no reassignments before there is exactly one controller",
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
        code=CODE,
        severity=Severity.CRITICAL,
        obj="/controller",
        summary=f"the cluster has no controller: /controller does not exist (last epoch {epoch})",
        cause=Cause("no broker managed to become controller", Confidence.CERTAIN),
        evidence=(Evidence(case.zookeeper_name, "/controller", "does not exist"), *live_row(case)),
        remedies=(
            look_again(case, "one is elected within seconds: look again"),
            Remedy("if it stays so: read the brokers' logs for why they cannot create /controller (rights, sessions)"),
        ),
        never=NEVER,
        token=str(epoch),
    )


def _not_registered(case: CaseFile, broker: int) -> Finding:
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"controller {broker}",
        summary=f"/controller names broker {broker}, which is not registered",
        cause=Cause("its session has not expired yet, or a dead session still holds /controller", Confidence.LIKELY),
        evidence=(Evidence(case.zookeeper_name, "/controller", f"broker {broker}"), *live_row(case)),
        remedies=(
            look_again(case, "wait for the ZooKeeper session timeout (18 s, 6 s before 2.5), then look again"),
            Remedy(f"if it stays so: stop the process of broker {broker}, which ends the session"),
        ),
        never=NEVER,
        follows=explained_by((broker,), case),
        token=str(broker),
    )


def _two(case: CaseFile, recorded: int | None) -> Iterator[Finding]:
    named: dict[int, list[int]] = {}
    for broker, view in case.views.items():
        if view.controller >= 0:
            named.setdefault(view.controller, []).append(broker)
    astray = sorted(b for controller, brokers in named.items() if controller != recorded for b in brokers)
    if not astray or (len(named) == 1 and recorded is None):
        return
    said = ", ".join(f"{brokers_named(b)}: {c}" for c, b in sorted(named.items()))
    yield Finding(
        code=CODE,
        severity=Severity.INFO if all(case.restarting(b) for b in astray) else Severity.WARNING,
        obj="brokers' views",
        summary=f"brokers name different controllers ({said}); /controller says {recorded}",
        cause=Cause(
            f"{brokers_named(astray)} {'has' if len(astray) == 1 else 'have'} not heard of the new controller: cut off "
            "from it or from ZooKeeper",
            Confidence.LIKELY,
        ),
        evidence=(
            Evidence(case.zookeeper_name, "/controller", str(recorded)),
            *(Evidence(brokers_named(b), "controller", str(c)) for c, b in sorted(named.items())),
            *live_row(case),
        ),
        remedies=(
            Remedy(f"mend the network of {brokers_named(astray)}: they follow by themselves; do nothing to Kafka"),
        ),
        never=(NEVER[1],),
        follows=tuple(k for b in astray for k in (*explained_by((b,), case), f"KFX203:broker {b}")),
        token=said,
    )


def _idle(case: CaseFile, controller: int, rows: Rows) -> Iterator[Finding]:
    signs = tuple(_signs(case, controller, rows))
    if not signs:
        return
    yield Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"controller {controller}",
        summary=f"broker {controller} is controller, but {count(len(signs), 'sign')} say that it does not act",
        cause=Cause("it holds /controller without doing the work (as in KAFKA-13407)", Confidence.POSSIBLE),
        evidence=signs,
        remedies=(
            look_again(case, "look again: a busy controller catches up"),
            Remedy(f"restart broker {controller}, cleanly; another one takes over in seconds"),
        ),
        never=NEVER,
        token=str(controller),
    )


def _signs(case: CaseFile, controller: int, rows: Rows) -> Iterator[Evidence]:
    stuck = [row.tp for row in rows]
    if stuck:
        yield Evidence(case.zookeeper_name, "recorded leader is gone, a replica in sync lives", per_topic(stuck))
    notifications, preferred = case.backlog
    if notifications >= BACKLOG:
        yield Evidence(case.zookeeper_name, "/isr_change_notification", f"{notifications} wait to be read")
    if preferred:
        yield Evidence(case.zookeeper_name, "/admin/preferred_replica_election", "waits to be taken")
    for broker in _never_told(case):
        if broker != controller:
            back = ago(case.back_for(broker))
            yield Evidence(f"broker {broker}", "registered, answers, in no isr, knows no partition", f"back for {back}")


def _never_told(case: CaseFile) -> list[int]:
    """Back for longer than a restart takes, and still told nothing. One that knows its partitions may just be slow."""
    old = {
        b
        for b in case.registrations.keys() & case.views.keys() & case.assigned
        if (case.back_for(b) or 0) > case.restart_grace and not case.views[b].partitions
    }
    for row in case.samples if old else ():
        old -= set(case.isr(row.tp))
        if not old:
            break
    return sorted(old)


CHECK = ClusterCheck(
    code=CODE,
    slug="controller",
    title="no controller, two of them, or one that does not act",
    severity=Severity.CRITICAL,
    check=check,
    rows="leader >= 0 and leaderless and n_live_isr > 0 and not deleting",
    debounce=Debounce.HELD,
)
