"""KFX814 fenced-alive: a broker is fenced although it responds and follows the metadata.

Why it matters
    A fenced broker leads nothing, and its replicas are in no ISR: one more failure may leave partitions without a
    leader. A partition whose only in-sync replica is on this broker is already down, although no record is lost. Its
    process runs, its port answers and its metrics show no fault.

How kfix knows
    The broker responds to kfix, the other brokers do not list it as alive, and it has applied the metadata of the
    active controller, or fetched it within the last second. So its heartbeats are what is missing: they are sent over a
    connection of their own. A broker that has just started is also fenced until it has caught up: the state must
    persist, and if an earlier snapshot shows a restart, the finding is only advice.

Remedies, safest first
    If the heartbeat interval is not below the session timeout, correct it. Otherwise find out what delays the
    heartbeats: its log names the failed requests. Once heartbeats arrive, it is unfenced within a second.

Do not
    Do not start it a second time: it runs. Do not reassign its replicas: they are up to date once it is back. Do not
    trigger an unclean election while it is in the ISR, or eligible to lead: that loses the records that only this
    broker has.

Sources
    Kafka 4.3.1: heartbeats (API key 63) dropped on their way to the controllers, everything else delivered. Kafka
    3.9.2: the same by a proxy. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.numbers import whole_number
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, has, per_topic, several, topics
from kfix_diagnostics._advice import diagnose_again
from kfix_diagnostics._bans import no_start, no_unclean_election, restart
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics.leadership._unclean import allowed, set_to_false
from kfix_diagnostics.quorum._controllers import applied_row, fenced_row, replica_rows

_ELSE = ". Otherwise its registration may elect a replica that lacks records"
_INTERVAL, _TIMEOUT = "broker.heartbeat.interval.ms", "broker.session.timeout.ms"


@ClusterCheck(rows="(n_isr < n_replicas or leaderless) and not deleting", scope=Scope.KRAFT)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    for broker in case.shut_out:
        if not quorum.stale(broker):
            yield _finding(broker, rows, case, quorum)


def _finding(broker: int, rows: Rows, case: CaseFile, quorum: QuorumView) -> Finding:
    calm = case.may_restart(broker, None)
    rare = _too_rare(broker, case)
    held = [row.tp for row in rows if row.leaderless and broker in _complete(row.tp, case)]
    missed = [row.tp for row in rows if broker in case.assignment(row.tp).replicas and broker not in case.isr(row.tp)]
    touched = tuple(dict.fromkeys((*missed, *held)))
    risky = [row.tp for row in rows if row.leaderless and _elects_another(broker, row, case)]
    holding = len(missed)
    responds = "it responds" if broker in case.views else "kfix does not reach it"
    if quorum.follows(broker):
        responds = "it responds and follows the metadata" if broker in case.views else "it fetches the metadata"
    effect = f": {several(holding, 'replica')} there {are(holding)} in no ISR" if holding else ""
    effect += f". {per_topic(held)} {has(topics(held))} no leader, and broker {broker} has all records" if held else ""
    return Finding(
        severity=Severity.INFO if calm else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"broker {broker} is fenced, although {responds}{effect}{'. This may be a restart' if calm else ''}",
        cause=_cause(rare, calm=calm),
        evidence=(
            *fenced_row(quorum, broker),
            *replica_rows([r for r in (*quorum.observers, *quorum.voters) if r.node == broker][:1], quorum, "broker"),
            *applied_row(quorum),
            *(
                Evidence(f"broker {b}", key, value)
                for key in (_INTERVAL, _TIMEOUT)
                for b, value in case.settings(key).items()
                if b == broker or key == _TIMEOUT
            ),
            *live_row(case),
        ),
        remedies=(
            *set_to_false(risky, case, before="Before the heartbeats are repaired", after=_ELSE),
            *_remedies(broker, quorum, rare, calm=calm),
            diagnose_again(case, "Then diagnose again"),
        ),
        never=(
            f"Do not start broker {broker} a second time: it runs",
            f"Do not reassign the replicas of broker {broker}: it catches up once it is unfenced",
            *(
                (f"Do not trigger an unclean election of {per_topic(held)}: broker {broker} leads without data loss",)
                if held
                else ()
            ),
        ),
        forbids=(no_unclean_election(touched), no_start((broker,))),
        partitions=touched,
        headline=f"broker {broker} is fenced" if calm else "",
    )


def _elects_another(broker: int, row: PartitionFacts, case: CaseFile) -> bool:
    """Returns whether its registration alone may make Kafka elect a replica that lacks records, as KFX119 explains."""
    there = broker in case.assignment(row.tp).replicas
    others = row.n_replicas > 1 or not there
    return bool(allowed(row, case)) and others and broker not in case.isr(row.tp) and (there or row.n_live_replicas > 0)


def _complete(tp: TopicPartition, case: CaseFile) -> tuple[int, ...]:
    """Returns the replicas that hold every committed record: those of the ISR and of the ELR."""
    quorum = case.snapshot.quorum
    eligible = None if quorum is None else quorum.eligible.get(tp)
    return (*case.isr(tp), *(() if eligible is None else eligible.replicas))


def _too_rare(broker: int, case: CaseFile) -> tuple[int, int] | None:
    """Returns its heartbeat interval and the shortest session timeout in milliseconds, if the first is not shorter."""
    interval = whole_number(case.settings(_INTERVAL).get(broker, ""))
    timeouts = [n for value in case.settings(_TIMEOUT).values() if (n := whole_number(value)) is not None]
    return (interval, min(timeouts)) if interval is not None and timeouts and interval >= min(timeouts) else None


def _cause(rare: tuple[int, int] | None, *, calm: bool) -> Cause:
    if rare is not None:
        interval, timeout = rare
        text = f"{_INTERVAL} ({interval}) is not below {_TIMEOUT} ({timeout}): its session ends between two heartbeats"
        return Cause(text)
    if calm:
        return Cause("a restart", Confidence.POSSIBLE)
    return Cause("its heartbeats do not reach the active controller in time; everything else does")


def _remedies(broker: int, quorum: QuorumView, rare: tuple[int, int] | None, *, calm: bool) -> Iterator[Remedy]:
    if rare is not None:
        text = f"Set {_INTERVAL} of broker {broker} to a third of {_TIMEOUT} at most, and restart it"
        yield restart(text, broker)
        return
    if calm:
        yield Remedy("Wait until it is unfenced")
        return
    active = next((each.address for each in quorum.controllers if each.node == quorum.leader), "the active controller")
    yield Remedy(
        f"Read the log of broker {broker} (BrokerLifecycleManager): it names the failed heartbeats to {active}. Check "
        "the firewall between them, and look for pauses of its process"
    )
    yield restart(f"If the network between them is healthy: restart broker {broker}, and no other broker", broker)
