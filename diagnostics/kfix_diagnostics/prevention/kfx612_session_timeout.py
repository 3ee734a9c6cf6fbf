"""KFX612 session-timeout: ZooKeeper's session timeout does not fit the replica lag time, or is too short.

Why it matters
    A session that outlives replica.lag.time.max.ms makes leaders react before the controller does. They remove a hung
    broker from each ISR one by one before the controller knows of it, and a leader that hangs itself removes its
    healthy followers when it resumes: it is alone in the ISR, and after its death no in-sync replica is left (KFX103).
    A session that is too short makes a long garbage collection or a busy host look like a death.

How kfix knows
    The brokers' own settings, compared broker by broker, in ZooKeeper mode: a session as long as the lag time or
    longer, or a session below 6 s, the shortest default that Kafka ever had. ZooKeeper itself bounds the session to 2
    to 20 times its tickTime, which the brokers do not show.

Remedies, safest first
    Kafka's defaults since 2.5: zookeeper.session.timeout.ms=18000 and replica.lag.time.max.ms=30000, in
    server.properties, then a rolling restart.

Do not
    Do not shorten the lag time to remove lagging replicas sooner: often the leader is the slow one, and the ISR shrinks
    to the one broker that is sick.

Sources
    KIP-537: 6 s and 10 s up to 2.4, 18 s and 30 s since 2.5; the lag time is the longer one so that the controller
    reacts first. Seen on 2.7.1: with 4 s and 10 000 partitions brokers lost their sessions under load, with 30 s they
    kept them. See docs/facts/running-brokers.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Finding
from kfix.core.wording import brokers_named
from kfix_diagnostics._bans import restart
from kfix_diagnostics.prevention._prevention import number, setting_rows

SESSION = "zookeeper.session.timeout.ms"
LAG = "replica.lag.time.max.ms"
SHORTEST = 6_000
NEVER = ("Do not shorten the lag time to remove lagging replicas sooner: often the leader is the slow one",)


@RiskOfCluster(scope=Scope.ZOOKEEPER)
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
            f"{SESSION} ({sessions[long[0]]}) should be below {LAG} ({lags[long[0]]}) on {brokers_named(long)}: "
            "otherwise leaders shrink ISRs before the controller detects a dead broker",
            case,
        )
    if short:
        yield _finding(
            SESSION,
            f"{SESSION} ({min(sessions[b] for b in short)}) should be at least {SHORTEST} on {brokers_named(short)}: "
            "otherwise a short pause looks like a dead broker",
            case,
        )


def _numbers(key: str, case: CaseFile) -> dict[int, int]:
    found = {broker: number(text) for broker, text in case.settings(key).items()}
    return {broker: n for broker, n in found.items() if n is not None and n > 0}


def _finding(obj: str, summary: str, case: CaseFile) -> Finding:
    return Finding(
        obj=obj,
        summary=summary,
        cause=Cause("the brokers' settings", Confidence.CERTAIN),
        evidence=(*setting_rows(case.settings(SESSION), SESSION), *setting_rows(case.settings(LAG), LAG)),
        remedies=(
            restart(f"Set {SESSION}=18000 and {LAG}=30000 in every server.properties, then do a rolling restart"),
        ),
        never=NEVER,
    )
