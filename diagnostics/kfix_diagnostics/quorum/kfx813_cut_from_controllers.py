"""KFX813 cut-from-controllers: a broker does not receive the metadata of the active controller.

Why it matters
    In its own frozen metadata it stays leader and coordinator for as long as the cut lasts, without a limit. The others
    have elected other leaders. Clients that reach it continue to write: with acks=0 or 1 their records are acknowledged
    and will be lost when it returns; with acks=all they time out. Offset commits there fail.

How kfix knows
    Every broker reports up to which offset it has applied the metadata. kfix first asks the active controller for the
    high watermark: a broker that has not reached it, neither at once nor at a second reading, has an older state. The
    active controller reports when it last fetched, which dates the cut; a broker that fetches, and a second later is
    still behind the high watermark of then, does not apply what it fetches. Only then does kfix ask this broker for its
    partitions with the leader epoch of its successors (OffsetForLeaderEpoch): UNKNOWN_LEADER_EPOCH proves that it still
    leads. The forecast is the end of its log less the end of its leader epoch at the new leader, where it will be
    truncated (KIP-101). kfix does not see which acks the producers use.

Remedies, safest first
    Stop the producers that write to it with acks=0 or 1, and copy its logs if the records matter: consumers cannot read
    them. Repair the network between this broker and the controllers, and change nothing in Kafka: it catches up and
    truncates within a second. A broker whose heartbeats still reach the controllers is not cut off: then its log shows
    why it does not apply the metadata.

Do not
    Do not trigger elections or reassignments in the meantime. Do not restart it: without the controllers it does not
    start. Do not restart the other brokers.

Sources
    Kafka 3.9.2 and 4.3.1: a broker cut only from the controllers led for 35 s next to its successor, one leader epoch
    apart, and answered 75 to its epoch. See docs/facts/kraft.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kfix.core.derive.background import session_seconds
from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.isolation import ReturnLoss, losses_of
from kfix.core.derive.quorum import absence
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, FactValue, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, brokers_named, per_topic, several
from kfix_diagnostics._bans import NO_CHANGES, NO_MOVES, no_restart, no_start, restart
from kfix_diagnostics._evidence import live_row, log_end_row, view_rows
from kfix_diagnostics.quorum._controllers import applied_row, fenced_row, replica_rows

_ROWS = 8


@dataclass(frozen=True, slots=True)
class OutdatedLeader:
    """A broker with old metadata. `twice` are the partitions that it still leads beside a newer leader.

    `cut` is whether the controllers do not receive its heartbeats either, `fetches` whether it fetches what it does not
    apply, and `proved` are the partitions that it was asked for.
    """

    broker: int
    cut: bool
    fetches: bool
    gone: float | None
    twice: tuple[TopicPartition, ...]
    proved: tuple[TopicPartition, ...]
    losses: tuple[ReturnLoss, ...]

    @property
    def records(self) -> int:
        return sum(loss.records for loss in self.losses)

    @property
    def exact(self) -> bool:
        return all(loss.known for loss in self.losses) and len(self.losses) == len(self.twice)


@ClusterCheck(severity=Severity.CRITICAL, rows="leader >= 0 and not views_agree", scope=Scope.KRAFT)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    first: dict[str, int] = {}
    for broker in sorted({*quorum.behind, *filter(quorum.stale, case.shut_out)} & case.views.keys()):
        # Brokers of one rack that are cut off together are one fault.
        rack = case.racks.get(broker) or ""
        head = first.setdefault(rack, broker) if rack else broker
        yield _finding(_judged(broker, rows, case, quorum), case, quorum, head)


def _judged(broker: int, rows: Rows, case: CaseFile, quorum: QuorumView) -> OutdatedLeader:
    own = case.views[broker].partitions
    asked = {tp: each for tp, each in quorum.old_leaders.items() if each.broker == broker}
    pairs = {
        f.tp: (broker, f.leader)
        for f in rows
        if f.leader != broker
        and (view := own.get(f.tp)) is not None
        and view.leader == broker
        and (f.tp not in asked or asked[f.tp].leads_still)
    }
    fetches = quorum.fetches(broker)
    gone, alive = absence(quorum, broker), case.live is not None and broker in case.live
    # Until its session has ended, a broker that is cut off is listed as alive, too.
    heard = fetches or (alive and gone is not None and gone > session_seconds(case.snapshot))
    return OutdatedLeader(
        broker,
        cut=not heard,
        fetches=fetches,
        gone=gone,
        twice=tuple(sorted(pairs)),
        proved=tuple(sorted(tp for tp in pairs if tp in asked)),
        losses=losses_of(case.snapshot, pairs),
    )


def _finding(old: OutdatedLeader, case: CaseFile, quorum: QuorumView, head: int) -> Finding:
    broker, twice = old.broker, old.twice
    agree = tuple(sorted((case.live or frozenset()) & case.views.keys() - {*quorum.behind} - {broker}))
    when = f" for {ago(old.gone)}" if old.gone is not None and old.gone >= 1 else ""
    text = f"has not received metadata{when}" if when else "does not receive metadata"
    if old.fetches:
        missing = quorum.high_watermark - 1 - quorum.applied(broker)
        text = f"fetches metadata, but does not apply it: it is {several(missing, 'record')} behind"
    more = f"; it acts as a second leader of {per_topic(twice)}{_forecast(old)}" if twice else ""
    return Finding(
        severity=Severity.CRITICAL if twice else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"broker {broker} {text}{more}",
        cause=Cause(
            "the network between it and the active controller is cut, or it hangs"
            if old.cut
            else "the controllers receive its heartbeats, but it does not apply their metadata: it hangs"
        ),
        evidence=tuple(_evidence(old, case, quorum)),
        blocked=Blocked(
            f"clients that reach broker {broker} only: writes with acks=0 or 1 will be lost, and writes with acks=all "
            "time out"
            if twice
            else ""
        ),
        remedies=tuple(_remedies(old)),
        never=tuple(_never(old, agree)),
        forbids=(
            NO_CHANGES if old.cut else NO_MOVES,
            no_start((broker,)),
            *((no_restart(agree),) if agree and not old.cut else ()),
        ),
        partitions=twice,
        facts=_facts(old),
        follows=() if head == broker else (f"KFX813:broker {head}",),
        lasted=old.gone if old.gone is not None else -1.0,
    )


def _forecast(old: OutdatedLeader) -> str:
    if not old.exact and not old.records:
        return ". How many records will be lost when it returns is unknown"
    where = f" of {per_topic(loss.tp for loss in old.losses if loss.records)}" if old.records else ""
    bound = "" if old.exact else "at least "
    return f". When it returns, {bound}{several(old.records, 'record')}{where} will be truncated"


def _evidence(old: OutdatedLeader, case: CaseFile, quorum: QuorumView) -> Iterator[Evidence]:
    broker = old.broker
    for loss in sorted(old.losses, key=lambda each: -each.records)[:_ROWS]:
        bound = "" if loss.known else "at least "
        said = f"broker {broker} will lose {bound}{several(loss.records, 'record')}; broker {loss.new} leads"
        yield Evidence("forecast", f"{loss.tp} when it returns", said)
    if old.twice:
        said = "not visible to kfix: with acks=0 or 1 all of these records were acknowledged, with acks=all none was"
        yield Evidence("producers", "acks", said)
    for tp in old.proved[:_ROWS]:
        answer = quorum.old_leaders[tp]
        yield Evidence(f"broker {broker}", f"OffsetForLeaderEpoch of {tp}, leader epoch {answer.epoch}", answer.error)
    yield from applied_row(quorum)
    yield from replica_rows([r for r in (*quorum.observers, *quorum.voters) if r.node == broker][:1], quorum, "broker")
    yield Evidence(f"controller {quorum.leader}", "high watermark of the metadata", str(quorum.high_watermark))
    yield from fenced_row(quorum, broker)
    yield from live_row(case)
    worst = max(old.losses, key=lambda loss: loss.records, default=None)
    shown = worst.tp if worst is not None else next(iter(old.twice), None)
    if shown is not None:
        yield from view_rows(case, shown)
        yield from log_end_row(case, shown)


def _remedies(old: OutdatedLeader) -> Iterator[Remedy]:
    broker = old.broker
    if old.twice:
        save = (
            f", and copy the logs of {per_topic(loss.tp for loss in old.losses if loss.records)} on its disk to keep "
            f"{several(old.records, 'record')} that consumers cannot read"
            if old.records
            else ""
        )
        until = "the network is repaired" if old.cut else "it has stepped down"
        yield Remedy(f"Until {until}: stop the producers that write to broker {broker} with acks=0 or 1{save}")
    if old.cut:
        where = f"between broker {broker} and the controllers"
        yield Remedy(f"Repair the network {where}, and change nothing in Kafka, which recovers by itself")
        return
    yield Remedy(f"Read the log of broker {broker}: it shows why the metadata is not applied")
    yield restart(f"If it persists: restart broker {broker}, and no other broker", broker)


def _never(old: OutdatedLeader, agree: tuple[int, ...]) -> Iterator[str]:
    restarts = ", reassignments or restarts" if old.cut else " or reassignments"
    yield f"Do not trigger elections{restarts} while it lasts: each deepens the split or loses data"
    if old.cut:
        yield f"Do not restart broker {old.broker}: without the controllers it does not start"
    yield f"Do not start broker {old.broker} a second time: it runs"
    if agree:
        yield f"Do not restart {brokers_named(agree)}, which agree; producers should use acks=all"


def _facts(old: OutdatedLeader) -> dict[str, FactValue]:
    """The forecast is `topic-partition=records`; exact if every partition with two leaders is known."""
    return {
        "brokers": (old.broker,),
        "two_leaders": len(old.twice),
        "proved": len(old.proved),
        "forecast_total": old.records,
        "forecast_exact": old.exact,
        "forecast": tuple(f"{loss.tp}={loss.records}" for loss in old.losses),
    }
