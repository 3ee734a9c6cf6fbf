"""KFX813 cut-from-controllers: a broker responds, but does not receive the metadata of the active controller.

Why it matters
    In its own frozen metadata it stays leader and coordinator for as long as the cut lasts, without a limit. Clients
    near it continue to write: with acks=1 they are acknowledged, and those records are lost when it returns. Offset
    commits there fail. The others have elected other leaders.

How kfix knows
    Every broker reports up to which offset it has applied the metadata. kfix first asks the active controller for the
    high watermark: a broker that has not reached it, neither at once nor at a second reading, is of an older moment. Or
    the broker responds to kfix, and the other brokers do not list it as alive: the controller has fenced it.

Remedies, safest first
    Repair the network between this broker and the controllers. It catches up and truncates within a second. Save the
    records that only it has before, if they matter.

Do not
    Do not trigger elections or reassignments meanwhile. Do not restart the other brokers.

Sources
    Kafka 3.9.2 and 4.3.1: a broker cut only from the controller led for 35 s next to its successor, one leader epoch
    apart. See docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.quorum import absence
from kfix.model.cluster.quorum import QuorumView
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import ago, several
from kfix_diagnostics._bans import NO_MOVES, restart
from kfix_diagnostics._evidence import live_row, log_end_row, view_rows
from kfix_diagnostics._words import per_topic
from kfix_diagnostics.quorum._controllers import applied_row, replica_rows

CODE = "KFX813"


def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    behind = set(quorum.behind)
    fenced = case.views.keys() - case.live if case.live is not None else set[int]()
    for broker in sorted(behind | fenced):
        yield _finding(broker, rows, case, quorum, stale=broker in behind)


def _finding(broker: int, rows: Rows, case: CaseFile, quorum: QuorumView, *, stale: bool) -> Finding:
    twice = _leads_too(broker, rows, case)
    gone = absence(quorum, broker)
    when = f" for {ago(gone)}" if gone is not None and gone >= 1 else ""
    text = "is fenced, although it responds"
    if stale:
        text = f"has not received metadata{when}" if when else "does not receive metadata"
    more = f"; it acts as a second leader of {per_topic(twice)}" if twice else ""
    cut = _records(broker, twice, case)
    lost = f". At least {several(cut, 'record')} will be truncated when it returns" if cut else ""
    shown = twice[0] if twice else None
    seen = [r for r in (*quorum.observers, *quorum.voters) if r.node == broker]
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL if twice else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"broker {broker} {text}{more}{lost}",
        cause=_cause(stale=stale),
        evidence=(
            *applied_row(quorum),
            *replica_rows(seen[:1], quorum, "broker"),
            Evidence(f"controller {quorum.leader}", "high watermark of the metadata", str(quorum.high_watermark)),
            *live_row(case),
            *((*view_rows(case, shown), *log_end_row(case, shown)) if shown else ()),
        ),
        blocked=Blocked(f"clients that reach broker {broker} only" if twice else ""),
        remedies=(
            Remedy(f"Repair the network between broker {broker} and the controllers. It then recovers by itself"),
            restart(f"If it stays so although the network is healthy: restart broker {broker}, and no other", broker),
        ),
        never=(
            "Do not trigger elections or reassignments while it lasts",
            "Do not restart the brokers that agree; producers should use acks=all",
        ),
        forbids=(NO_MOVES,),
        partitions=tuple(twice),
        lasted=gone if gone is not None else -1.0,
    )


def _cause(*, stale: bool) -> Cause:
    if stale:
        return Cause("the network between it and the active controller is cut, or it hangs", Confidence.LIKELY)
    return Cause("it has just started, is stopping, or its heartbeats do not reach the controller", Confidence.LIKELY)


def _leads_too(broker: int, rows: Rows, case: CaseFile) -> list[TopicPartition]:
    own = case.views[broker].partitions if broker in case.views else {}
    return [f.tp for f in rows if f.leader != broker and (view := own.get(f.tp)) is not None and view.leader == broker]


def _records(broker: int, twice: list[TopicPartition], case: CaseFile) -> int:
    """Returns how many records only this broker has: the end of its log beyond the end of its epoch at the others."""
    total = 0
    for tp in twice:
        ends, epoch = case.log_ends(tp), case.snapshot.epoch_ends.get(tp)
        if broker in ends and epoch is not None and not epoch.error and epoch.end >= 0:
            total += max(0, ends[broker].end - epoch.end)
    return total


CHECK = ClusterCheck(
    code=CODE,
    slug="cut-from-controllers",
    title="a broker does not receive the metadata of the active controller",
    severity=Severity.CRITICAL,
    check=check,
    rows="leader >= 0 and not views_agree",
    debounce=Debounce.HELD,
)
