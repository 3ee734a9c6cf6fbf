"""KFX403 broker-unregistered: a broker responds but is not registered.

Why it matters
    It is cut off from ZooKeeper without noticing: it still acts as leader of partitions that other brokers have taken
    over. Clients near it continue to write; with acks=1 they are acknowledged, and every record that only this broker
    has is truncated when it returns. With acks=all they time out, and no acknowledged record is lost.

How kfix knows
    It responds to kfix over a separate connection and is missing in /brokers/ids. For each partition kfix compares its
    view with the record; the log ends of both sides bound how many records will be truncated.

Remedies, safest first
    Repair the network between this broker and ZooKeeper; it registers again, truncates and follows by itself.

Do not
    Do not trigger elections or reassignments in the meantime. Do not restart the rest of the cluster. Do not start the
    broker a second time: it runs.

Sources
    Kafka 2.7.1 with isolated zones: two leaders of one partition, epochs one apart; 676 records truncated when the
    network healed. See docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import per_topic, several
from kfix_diagnostics._bans import NO_MOVES, no_start, restart
from kfix_diagnostics._evidence import live_row, log_end_row, state_row, view_rows
from kfix_diagnostics._explained import explained_by


@ClusterCheck(
    severity=Severity.CRITICAL,
    rows="leader >= 0 and (not views_agree or not zk_agrees)",
    scope=Scope.ZOOKEEPER,
)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for broker in () if case.kraft else case.shut_out:
        yield _shut_out(broker, rows, case)


def _shut_out(broker: int, rows: Rows, case: CaseFile) -> Finding:
    twice = _leads_too(broker, rows, case)
    more = f"; it acts as a second leader of {per_topic(twice)}" if twice else ""
    shown = twice[0] if twice else None
    records = (*state_row(case, shown), *view_rows(case, shown), *log_end_row(case, shown)) if shown else ()
    cut = _cut_off(broker, twice, case)
    remedies = [
        Remedy(f"Repair the network between broker {broker} and ZooKeeper. The broker then recovers by itself"),
        # Seen on 2.7.1: a ZooKeeper server that had served read-only can lose a session for good.
        restart(f"If it stays unregistered although the network is healthy: restart broker {broker}", broker),
    ]
    if cut:
        remedies.append(
            Remedy(
                f"Expect at least {several(cut, 'record')} to be lost when it returns: save them first if they matter"
            )
        )
    return Finding(
        severity=Severity.CRITICAL if twice else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"broker {broker} responds but is not registered{more}",
        cause=Cause("it is cut off from ZooKeeper, or is starting or stopping"),
        evidence=(Evidence(f"broker {broker}", "metadata", "responds"), *live_row(case), *records),
        blocked=Blocked(f"clients that reach broker {broker} only" if twice else ""),
        remedies=tuple(remedies),
        never=(
            "Do not trigger elections or reassignments while it lasts",
            "Do not restart the rest of the cluster because of it; producers should use acks=all",
            f"Do not start broker {broker} a second time: it runs",
        ),
        forbids=(NO_MOVES, no_start((broker,))),
        partitions=tuple(twice),
        follows=explained_by((broker,), case),
    )


def _leads_too(broker: int, rows: Rows, case: CaseFile) -> list[TopicPartition]:
    own = case.views[broker].partitions
    return [f.tp for f in rows if f.leader != broker and (view := own.get(f.tp)) is not None and view.leader == broker]


def _cut_off(broker: int, twice: list[TopicPartition], case: CaseFile) -> int:
    total = 0
    for tp in twice:
        ends = case.log_ends(tp)
        state = case.state(tp)
        if state is not None and broker in ends and state.leader in ends:
            total += max(0, ends[broker].end - ends[state.leader].end)
    return total
