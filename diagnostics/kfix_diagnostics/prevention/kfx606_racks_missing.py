"""KFX606 racks-missing: brokers do not say in which rack or zone they are.

Why it matters
    Without broker.rack Kafka spreads replicas over brokers and not over zones: all copies of a partition may lie in
    the one that fails. Where some brokers have one and others have none it is worse: a topic without a given
    assignment cannot be created any more ("Not all brokers have rack information").

How kfix knows
    The registrations in ZooKeeper, on KRaft the brokers' metadata: brokers that are alive and have no rack. With none
    at all it is advice, since nobody can see from a cluster whether there is more than one zone.

What helps
    broker.rack in the server.properties of every broker, one after the other; then a reassignment of what exists,
    because racks act only when a topic is created.

What not to do
    Do not set it on some brokers only and leave it so. Do not expect it to move anything.

Sources
    Kafka: KIP-36; AdminUtils refuses a rack-aware assignment where racks are known of some brokers only.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._words import some

CODE = "KFX606"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # A pasted text names brokers and not their racks.
    told = case.kraft or bool(case.registrations)
    live = sorted(case.live or ()) if told else []
    without = [broker for broker in live if broker not in case.racks]
    if len(live) < 2 or not without:
        return
    if len(without) == len(live):
        yield _none(live)
    else:
        yield _some(without, case)


def _none(live: list[int]) -> Finding:
    return Finding(
        code=CODE,
        severity=Severity.INFO,
        obj="all brokers",
        summary=f"none of {len(live)} brokers has broker.rack: replicas are not spread over zones",
        cause=Cause("broker.rack is not set", Confidence.CERTAIN),
        evidence=(Evidence(brokers_named(live), "broker.rack", "none"),),
        remedies=(Remedy("where there is more than one zone: set broker.rack on every broker, one after the other"),),
        never=("do not set it on some brokers only and leave it so",),
    )


def _some(without: list[int], case: CaseFile) -> Finding:
    known = [f"{broker}: {rack}" for broker, rack in sorted(case.racks.items())]
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj="some brokers",
        summary=f"{brokers_named(without)} without broker.rack while others have one: topics cannot be created without "
        "a given assignment",
        cause=Cause("broker.rack is set on some brokers only", Confidence.CERTAIN),
        evidence=(
            Evidence(brokers_named(without), "broker.rack", "none"),
            Evidence("brokers", "broker.rack", some(known)),
        ),
        remedies=(
            Remedy(f"set broker.rack on {brokers_named(without)} and restart, one after the other"),
            runbook(case, "spread-replicas", "then spread over racks what exists already"),
        ),
        never=("do not leave it on some brokers only", "do not expect it to move what exists already"),
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="racks-missing",
    title="brokers do not say in which rack or zone they are",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
