"""KFX612 session-timeout: ZooKeeper's session timeout does not fit the replica lag time, or is too short.

Why it matters
    A session that outlives replica.lag.time.max.ms reverses who judges first. The leaders then drop a hung broker from
    each isr one by one before the controller knows of it, and a leader that hangs itself drops its healthy followers
    when it wakes up: it stays in the isr alone, and its death leaves nobody to elect (KFX103). A session that is too
    short lets a long garbage collection or a busy machine look like a death.

How kfix knows
    The brokers' own settings, compared broker by broker, in ZooKeeper mode: a session as long as the lag time or
    longer, or a session below 6 s, the shortest that Kafka ever had as its default. ZooKeeper itself bounds the
    session to 2 to 20 times its tickTime, which cannot be seen from the brokers.

What helps
    Kafka's defaults since 2.5: zookeeper.session.timeout.ms=18000 and replica.lag.time.max.ms=30000, in
    server.properties, then a rolling restart.

What not to do
    Do not shorten the lag time to have lagging replicas gone sooner: often it is the leader that is slow, and the isr
    shrinks to the one broker that is sick.

Sources
    KIP-537: 6 s and 10 s up to 2.4, 18 s and 30 s since 2.5; the lag time is the longer one so that the controller
    finds out first. Seen on 2.7.1: with 4 s and 10 000 partitions brokers lost their sessions under load, 30 s held.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix_diagnostics.prevention._prevention import number, setting_rows

CODE = "KFX612"
SESSION = "zookeeper.session.timeout.ms"
LAG = "replica.lag.time.max.ms"
SHORTEST = 6_000
NEVER = ("do not shorten the lag time to have lagging replicas gone sooner: often it is the leader that is slow",)


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.kraft:
        return
    sessions = _numbers(SESSION, case)
    lags = _numbers(LAG, case)
    long = [broker for broker, session in sessions.items() if broker in lags and session >= lags[broker]]
    short = [broker for broker, session in sessions.items() if session < SHORTEST]
    if long:
        yield _finding(
            f"{SESSION} against {LAG}",
            f"{brokers_named(long)}: a session of {sessions[long[0]]} ms is not shorter than the {lags[long[0]]} ms "
            "after which a replica leaves the isr: leaders judge before the controller does",
            case,
        )
    if short:
        yield _finding(
            SESSION,
            f"{brokers_named(short)}: a session of {min(sessions[b] for b in short)} ms is below {SHORTEST} ms: a "
            "pause of that length looks like a death",
            case,
        )


def _numbers(key: str, case: CaseFile) -> dict[int, int]:
    found = {broker: number(text) for broker, text in case.settings(key).items()}
    return {broker: n for broker, n in found.items() if n is not None and n > 0}


def _finding(obj: str, summary: str, case: CaseFile) -> Finding:
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=obj,
        summary=summary,
        cause=Cause("the brokers' settings", Confidence.CERTAIN),
        evidence=(*setting_rows(case.settings(SESSION), SESSION), *setting_rows(case.settings(LAG), LAG)),
        remedies=(Remedy(f"set {SESSION}=18000 and {LAG}=30000 in every server.properties, then a rolling restart"),),
        never=NEVER,
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="session-timeout",
    title="ZooKeeper's session timeout does not fit the replica lag time, or is too short",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
