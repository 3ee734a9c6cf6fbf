"""KFX606 racks-missing: brokers have no rack.

Why it matters
    Without broker.rack Kafka spreads replicas over brokers and not over zones: all copies of a partition may be in the
    zone that fails. If some brokers have a rack and others have none it is worse: a topic without a given assignment
    cannot be created ("Not all brokers have rack information").

How kfix knows
    The registrations in ZooKeeper, on KRaft the brokers' metadata: live brokers that have no rack. If none has one it
    is advice, because a cluster does not show whether there is more than one zone.

Remedies, safest first
    Set broker.rack in the server.properties of every broker, one after the other; then reassign the existing topics,
    because racks are considered only when a topic is created.

Do not
    Do not leave it set on only some of the brokers. Do not expect it to move anything.

Sources
    Kafka: KIP-36; AdminUtils refuses a rack-aware assignment where racks are known of some brokers only. See
    docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import brokers_named, has, some
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._bans import restart


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # A pasted text names brokers but not their racks.
    known = case.kraft or bool(case.registrations)
    live = sorted(case.live or ()) if known else []
    without = [broker for broker in live if broker not in case.racks]
    if len(live) < 2 or not without:
        return
    if len(without) == len(live):
        yield _none(live)
    else:
        yield _some(without, case)


def _none(live: list[int]) -> Finding:
    return Finding(
        severity=Severity.INFO,
        obj="all brokers",
        about="racks",
        summary=f"none of {len(live)} brokers has a rack: replicas are not spread over zones",
        cause=Cause("broker.rack is not set", Confidence.CERTAIN),
        evidence=(Evidence(brokers_named(live), "broker.rack", "none"),),
        remedies=(Remedy("If there is more than one zone: set broker.rack on every broker, one after the other"),),
        never=("Do not leave it set on only some of the brokers",),
    )


def _some(without: list[int], case: CaseFile) -> Finding:
    known = [f"{broker}: {case.rack_named(rack)}" for broker, rack in sorted(case.racks.items())]
    return Finding(
        obj="some brokers",
        about="racks",
        summary=f"topics cannot be created without an explicit assignment: {brokers_named(without)} "
        f"{has(len(without))} no rack, while other brokers have one",
        cause=Cause("broker.rack is set on some brokers only", Confidence.CERTAIN),
        evidence=(
            Evidence(brokers_named(without), "broker.rack", "none"),
            Evidence("brokers", "broker.rack", some(known)),
        ),
        remedies=(
            restart(f"Set broker.rack on {brokers_named(without)} and restart, one broker after the other"),
            runbook(case, "spread-replicas", "Afterwards spread the existing replicas over racks"),
        ),
        never=("Do not leave it set on only some of the brokers", "Do not expect it to move existing replicas"),
    )
