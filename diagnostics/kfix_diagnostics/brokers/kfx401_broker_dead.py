"""KFX401 broker-dead: brokers that hold replicas are not registered.

Why it matters
    This one cause may look like hundreds of faults, so everything that lacks exactly these brokers is listed under this
    finding. Partitions without a leader although an in-sync replica is alive (KFX101, KFX102) are not: a dead broker
    alone does not explain those.

How kfix knows
    The id is in an assignment but not in /brokers/ids (without ZooKeeper: most brokers do not report it as alive), and
    it does not respond to kfix either. Other brokers' restarts rewrite the records that lack it, so these show only the
    least time for which it has been out of sync. When it left is bounded by the last change of /brokers/ids and by the
    last snapshot that had its answer. A broker that is shown to be gone for less than the restart grace, while no
    client is blocked, may be restarting: that is advice, not an alarm. If several are down and a partition has one
    in-sync replica left, the cluster is degraded: a warning at once. A broker whose address accepts connections but
    never answers is frozen: its session has ended, its process has not. A broker whose address answers for another
    cluster was started there as a broker of that cluster (KFX817).

Remedies, safest first
    Start it; its replicas catch up and rejoin by themselves. If it is frozen, kill its process first: it holds the port
    and the disks. Once it is certain that it cannot come back, reassign its replicas to the other brokers.

Do not
    Do not restart other brokers because of it. Do not remove the dead replica from a partition that has no leader.

Sources
    Kafka 2.7.1: /brokers/ids is ephemeral, it ends with the ZooKeeper session (18 s, 6 s before 2.5). KAFKA-13225: the
    list of live brokers in metadata can be stale up to 3.0, so the registrations count. See
    docs/facts/running-brokers.md.
"""

from collections.abc import Iterator
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, are, brokers_named, continued, has, several
from kfix_diagnostics._advice import start
from kfix_diagnostics._bans import moves_from, starts
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._words import been_gone, not_alive


@ClusterCheck(
    rows="n_live_replicas < n_replicas",
    # The restart grace is its own debounce: a broker that has just left is advice.
    debounce=Debounce.NONE,
)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    dead = case.dead
    if not dead:
        return
    calm = case.calm(dead) and not case.strayed
    holding = len(rows)
    gone = been_gone(dead, case, calm=calm)
    when = f" and {has(len(dead))} {gone}" if gone else ""
    tail = ". This may be a restart, and no client is blocked" if calm else ""
    last = sum(row.n_live_isr == 1 < row.n_replicas for row in rows)
    # One broker at a time restarts; with several, a partition on its last replica is at the next failure.
    severity = Severity.INFO if calm and not (last and len(dead) > 1) else Severity.WARNING
    yield Finding(
        severity=severity,
        obj=brokers_named(dead),
        about=f"broker {dead[0]}",
        summary=f"{brokers_named(dead)} {are(len(dead))} {not_alive(case)}{when}: {several(holding, 'partition')} "
        f"{has(holding)} replicas there{_frozen(dead, case)}{tail}",
        cause=_cause(dead, case, calm=calm),
        evidence=(*(_row(b, case) for b in dead), *live_row(case)),
        remedies=tuple(_remedies(dead, case, calm=calm, first=_only_in_sync(rows, case))),
        never=(
            "Do not restart other brokers because of it",
            "Do not remove the dead replica from a partition without a leader: the reassignment hangs",
        ),
        follows=_explained(dead, case),
        headline=_headline(dead, case, last) if calm else "",
    )
    for broker in dead[1:]:
        yield replace(_one_more(broker, dead, case, calm=calm), severity=severity)


def _explained(dead: tuple[int, ...], case: CaseFile) -> tuple[str, ...]:
    """Returns the key of the finding that names the other cluster, if all of them were started there."""
    clusters = {case.strayed[b][1] if b in case.strayed else "" for b in dead}
    return tuple(f"KFX817:cluster {cluster}" for cluster in clusters if cluster and len(clusters) == 1)


def _headline(dead: tuple[int, ...], case: CaseFile, last: int) -> str:
    """Returns which brokers may be restarting, since when, and how many partitions have one in-sync replica left."""
    if len(dead) == 1:
        text = f"{brokers_named(dead)} has {been_gone(dead, case, calm=True)}"
    else:
        each = (f"{b} ({been_gone((b,), case, calm=True).removeprefix('been gone for ')})" for b in dead)
        text = f"{len(dead)} of {len(case.assigned | (case.live or frozenset()))} brokers are down: {', '.join(each)}"
    left = f"; {several(last, 'partition')} {has(last)} one in-sync replica left" if last else ""
    return f"{text}{left}{_alarm_in(dead, case)}"


def _alarm_in(brokers: tuple[int, ...], case: CaseFile) -> str:
    """Returns when it becomes an alarm: the longest possible absence counts."""
    ages = [case.absence(broker).at_most or 0.0 for broker in brokers]
    return f", an alarm in {ago(case.criteria.restart_grace - max(ages))}"


def _one_more(broker: int, dead: tuple[int, ...], case: CaseFile, *, calm: bool) -> Finding:
    """Returns a finding of its own for each further broker: its key stays while others come back."""
    gone = been_gone((broker,), case, calm=calm)
    return Finding(
        obj=f"broker {broker}",
        summary=f"broker {broker} is {not_alive(case)}{f', and has {gone}' if gone else ''}{_frozen((broker,), case)}",
        cause=_cause((broker,) if broker in case.frozen or broker in case.strayed else dead, case, calm=calm),
        evidence=(_row(broker, case), *live_row(case)),
        remedies=tuple(_remedies((broker,), case, calm=calm)),
        follows=(f"KFX401:broker {dead[0]}",),
    )


def _row(broker: int, case: CaseFile) -> Evidence:
    where = case.address(broker)
    source = case.zookeeper_name if case.registrations else "brokers"
    if broker in case.strayed:
        value = f"{not_alive(case)}; {where} answers as a broker of cluster {case.strayed[broker][1]}"
        return Evidence(source, f"broker {broker}", value)
    if broker in case.frozen:
        value = f"{not_alive(case)}; {where or 'its address'} accepts connections and does not answer"
        return Evidence(source, f"broker {broker}", value)
    answered = case.snapshot.memory.alive.get(broker)
    seen = f"; it answered an earlier snapshot {ago(case.taken_at - answered)} ago" if answered is not None else ""
    return Evidence(source, f"broker {broker}", f"not alive{f', last seen at {where}' if where else ''}{seen}")


def _frozen(brokers: tuple[int, ...], case: CaseFile) -> str:
    frozen = [b for b in brokers if b in case.frozen]
    if not frozen:
        return ""
    who = brokers_named(frozen) if len(brokers) > 1 else "it"
    verb = "accepts connections and does" if len(frozen) == 1 else "accept connections and do"
    return f", but {who} still {verb} not answer"


def _cause(dead: tuple[int, ...], case: CaseFile, *, calm: bool) -> Cause:
    strayed = [b for b in dead if b in case.strayed]
    if strayed:
        what = "a broker of another cluster answers at the address"
        what = what if len(strayed) == 1 else "brokers of another cluster answer at the addresses"
        return Cause(f"{what} of {brokers_named(strayed)}, see KFX817", Confidence.CERTAIN)
    frozen = [b for b in dead if b in case.frozen]
    if frozen:
        its = "its session has" if len(frozen) == 1 else "their sessions have"
        return Cause(f"{brokers_named(frozen)} {are(len(frozen))} frozen, and {its} ended")
    lost = [b for b in dead if b in case.lost]
    if lost:
        return Cause(f"{brokers_named(lost)} may no longer exist, see KFX105", Confidence.POSSIBLE)
    racks = {case.racks.get(b, "") for b in dead}
    if calm:
        return Cause("a restart", Confidence.POSSIBLE)
    if len(dead) > 1 and len(racks) == 1 and "" not in racks:
        rack = case.rack_named(racks.pop())
        return Cause(f"all of them are in rack {rack}: the rack or its network failed")
    whom = "the controllers" if case.kraft else "ZooKeeper"
    return Cause(f"stopped, crashed, or cut off from {whom} and from kfix", Confidence.UNKNOWN)


def _only_in_sync(rows: Rows, case: CaseFile) -> tuple[int, ...]:
    """Returns the dead brokers without which a partition stays without a leader: they alone have all its records."""
    down = [row.tp for row in rows if row.leaderless and row.n_live_isr == 0]
    return tuple(sorted({b for tp in down for b in case.isr(tp) if b in case.dead}))


def _remedies(dead: tuple[int, ...], case: CaseFile, *, calm: bool, first: tuple[int, ...] = ()) -> Iterator[Remedy]:
    if calm:
        yield Remedy("Wait until it is back. Diagnose again if it does not return")
        return
    yield from _maybe_frozen(dead, case)
    rest = tuple(b for b in dead if b not in first)
    if first and rest:
        they = "it is" if len(first) == 1 else "they are"
        text = f"{start(first, case)}, first: only {they} in sync for partitions without a leader. "
        yield starts(Remedy(f"{text}Then {continued(start(rest, case))}"), dead)
    else:
        begin = start(dead, case)
        if set(dead) & set(case.lost):
            begin = f"If {'it still exists' if len(dead) == 1 else 'they still exist'}, {continued(begin)}"
        text = f"{begin}. Replicas catch up and rejoin the ISR without further action"
        yield starts(Remedy(text), dead)
    text = f"Once it is certain that {brokers_named(dead)} will never come back: reassign the replicas to other brokers"
    yield moves_from(Remedy(text), dead)


def _maybe_frozen(dead: tuple[int, ...], case: CaseFile) -> Iterator[Remedy]:
    """Yields advice where a bootstrap server hangs and no source shows which broker it is."""
    hung = [s.name.removeprefix("bootstrap ") for s in case.failed_sources if s.name.startswith("bootstrap ")]
    if hung and not case.frozen and not case.silent:
        yield Remedy(
            f"Check whether the process of {brokers_named(dead)} still runs: {', '.join(hung)} neither refuses "
            "connections nor answers. If it is frozen, end it before you start the broker"
        )
