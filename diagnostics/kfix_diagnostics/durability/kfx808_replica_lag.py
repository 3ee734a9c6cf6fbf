"""KFX808 replica-lag: a live replica is out of sync, and is stuck, slow, or catching up.

Why it matters
    Each of the three needs another remedy: a stuck replica never recovers by itself, a slow one never catches up, and
    one that is catching up only needs to be left alone. A count of under-replicated partitions does not distinguish
    them.

How kfix knows
    The log ends of replica and leader, read from both, twice: records behind then and now, and records a second. Stuck:
    its log end does not move. Slow: it moves, but the lag does not shrink. Catching up: the lag shrinks; kfix estimates
    the time left. A cut link has the same symptoms as a stuck replica; the cut is then reported instead (KFX801,
    KFX802, KFX807).

Remedies, safest first
    Stuck: remove a left-over throttle; otherwise its fetcher is stuck: restart that one broker with a clean shutdown.
    Slow: check its disk, network, garbage collection and throttles. Catching up: wait.

Do not
    Do not trigger an election or restart the leader. Do not restart a replica that catches up: it would start over.

Sources
    Kafka 2.7.1: Partition.getOutOfSyncReplicas; ReplicaFetcherThread.shouldFollowerThrottle. See
    docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.derive.moves import Lag, Pace
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, brokers_named, per_topic, several
from kfix_diagnostics._bans import no_election, no_restart, restart
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics.durability._missing import NO_RESTART


@ClusterCheck(debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.cut is not None:
        return
    for (broker, pace), lags in sorted(grouped(((lag.broker, lag.pace), lag) for lag in case.lags).items()):
        yield _lagging(case, broker, pace, lags)


def _lagging(case: CaseFile, broker: int, pace: Pace, lags: list[Lag]) -> Finding:
    worst = max(lags, key=lambda lag: lag.now)
    tps = tuple(sorted(lag.tp for lag in lags))
    return Finding(
        severity=Severity.INFO if pace is Pace.CATCHING_UP else Severity.WARNING,
        obj=f"broker {broker} {pace}",
        summary=f"broker {broker} is {pace} on {per_topic(tps)}: {several(worst.now, 'record')} behind on {worst.tp}, "
        f"{worst.before} behind {worst.seconds:.0f} s earlier{_left(pace, worst)}",
        cause=Cause(_cause(case, pace, broker, lags)),
        evidence=(*(row for lag in lags[:5] for row in _rows(lag)), *live_row(case)),
        remedies=tuple(_remedies(pace, broker)),
        never=(
            f"Do not trigger an election, and {NO_RESTART}",
            *((f"Do not restart broker {broker}: it would start over",) if pace is Pace.CATCHING_UP else ()),
        ),
        forbids=(no_election(tps), *((no_restart([broker]),) if pace is Pace.CATCHING_UP else ())),
        partitions=tps,
        facts={"broker": broker, "pace": str(pace), "behind": worst.now},
    )


def _left(pace: Pace, lag: Lag) -> str:
    left = lag.seconds_left if pace is Pace.CATCHING_UP else None
    return f". It will be in sync in about {ago(left)}" if left is not None else ""


def _cause(case: CaseFile, pace: Pace, broker: int, lags: list[Lag]) -> str:
    if pace is Pace.CATCHING_UP:
        back = case.back_for(broker)
        known = back is not None and case.restarting(broker)
        return f"it came back {ago(back)} ago" if known else "it fell behind and is recovering"
    leaders = sorted({lag.leader for lag in lags})
    where = f" from {brokers_named(leaders)}"
    if pace is Pace.STUCK:
        return f"it fetches nothing{where}: throttled, or its fetcher is stuck"
    return f"it fetches more slowly{where} than records arrive: disk, network, garbage collection, or a throttle"


def _rows(lag: Lag) -> Iterator[Evidence]:
    yield Evidence(
        "ListOffsets, two snapshots",
        f"{lag.tp}, broker {lag.broker} behind leader {lag.leader}",
        f"{lag.before} records, {lag.seconds:.0f} s later {lag.now}; it appends {lag.rate:.1f} records a second, "
        f"the leader {lag.leader_rate:.1f}",
    )


def _remedies(pace: Pace, broker: int) -> Iterator[Remedy]:
    if pace is Pace.CATCHING_UP:
        yield Remedy("Wait: it recovers by itself")
        return
    yield Remedy(f"Check for a left-over throttle on broker {broker} or on the topics (runbook sweep-throttles)")
    if pace is Pace.STUCK:
        yield restart(f"If there is none: restart broker {broker} with a clean shutdown, and no other broker", broker)
    else:
        yield Remedy(f"Check the disk, the network and the garbage collection of broker {broker}")
