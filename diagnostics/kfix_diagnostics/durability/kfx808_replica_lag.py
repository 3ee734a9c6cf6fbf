"""KFX808 replica-lag: a living replica is out of sync, and two looks tell whether it is stuck, slow or catching up.

Why it matters
    Each of the three wants something else: a stuck replica never comes back by itself, a slow one never catches up, and
    one that catches up only wants to be left alone. A count of under-replicated partitions tells none of it.

How kfix knows
    The log ends of replica and leader, asked of both, twice: records behind then and now, and records a second. Stuck:
    it does not move at all. Slow: it moves, and does not come nearer. Catching up: it comes nearer, with the time left.
    A link that is cut looks like stuck; then the cut is told instead (KFX801, KFX802, KFX807).

What helps
    Stuck: a throttle that somebody left, else its fetcher: restart that one broker, cleanly. Slow: its disk, its
    network, its garbage collection, or a throttle. Catching up: wait.

What not to do
    No election and no restart of the leader. Do not restart a replica that catches up: it would begin anew.

Sources
    Kafka 2.7.1: Partition.getOutOfSyncReplicas; ReplicaFetcherThread.shouldFollowerThrottle; design E3.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.lag import Lag, Pace
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._words import ago, count, per_topic

CODE = "KFX808"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.cut is not None:
        return
    groups: dict[tuple[int, Pace], list[Lag]] = {}
    for lag in case.lags:
        groups.setdefault((lag.broker, lag.pace), []).append(lag)
    for (broker, pace), lags in sorted(groups.items()):
        yield _lagging(case, broker, pace, lags)


def _lagging(case: CaseFile, broker: int, pace: Pace, lags: list[Lag]) -> Finding:
    worst = max(lags, key=lambda lag: lag.now)
    tps = tuple(sorted(lag.tp for lag in lags))
    return Finding(
        code=CODE,
        severity=Severity.INFO if pace is Pace.CATCHING_UP else Severity.WARNING,
        obj=f"broker {broker} {pace}",
        summary=f"broker {broker} is {pace} on {per_topic(tps)}: {count(worst.now, 'record')} behind on {worst.tp}, "
        f"{worst.before} {worst.seconds:.0f} s before{_left(pace, worst)}",
        cause=Cause(_cause(case, pace, broker, lags), Confidence.LIKELY),
        evidence=(*(row for lag in lags[:5] for row in _rows(lag)), *live_row(case)),
        remedies=tuple(_remedies(pace, broker)),
        never=(
            "no election, and no restart of the brokers that are in sync",
            *((f"do not restart broker {broker}: it would begin anew",) if pace is Pace.CATCHING_UP else ()),
        ),
        partitions=tps,
        facts={"broker": broker, "pace": str(pace), "behind": worst.now},
    )


def _left(pace: Pace, lag: Lag) -> str:
    left = lag.seconds_left if pace is Pace.CATCHING_UP else None
    return f"; in sync again in about {ago(left)}" if left is not None else ""


def _cause(case: CaseFile, pace: Pace, broker: int, lags: list[Lag]) -> str:
    if pace is Pace.CATCHING_UP:
        back = case.back_for(broker)
        return f"it came back {ago(back)} ago" if case.restarting(broker) else "it fell behind, and recovers"
    leaders = sorted({lag.leader for lag in lags})
    where = f" from {brokers_named(leaders)}"
    if pace is Pace.STUCK:
        return f"it fetches nothing{where}: throttled, or its fetcher is stuck"
    return f"it fetches slower{where} than records come in: disk, network, garbage collection, or a throttle"


def _rows(lag: Lag) -> Iterator[Evidence]:
    yield Evidence(
        "ListOffsets, two looks",
        f"{lag.tp}, broker {lag.broker} behind leader {lag.leader}",
        f"{lag.before} records, {lag.seconds:.0f} s later {lag.now}; it takes {lag.rate:.1f} a second, "
        f"the leader {lag.leader_rate:.1f}",
    )


def _remedies(pace: Pace, broker: int) -> Iterator[Remedy]:
    if pace is Pace.CATCHING_UP:
        yield Remedy("wait: it comes back by itself")
        return
    yield Remedy(f"look for a throttle that was left on broker {broker} or on the topics (runbook sweep-throttles)")
    if pace is Pace.STUCK:
        yield Remedy(f"else restart broker {broker}, cleanly, and only it")
    else:
        yield Remedy(f"look at the disk, the network and the garbage collection of broker {broker}")


CHECK = ClusterCheck(
    code=CODE,
    slug="replica-lag",
    title="a living replica is stuck, slow, or catching up",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
)
