"""KFX613 end-of-life: an old Kafka release line, or ZooKeeper mode, which no longer gets fixes.

Why it matters
    Known faults stay in: stale controller writes that leave partitions without a leader, stuck coordinators, security
    holes. And the way out gets longer: the migration to KRaft goes through 3.9, the last line with ZooKeeper.

How kfix knows
    The protocol version that each broker's software supports, which DescribeConfigs reports as the default of
    inter.broker.protocol.version. If a broker does not report it, kfix uses the setting itself: then the software may
    be newer, and it is advice. ZooKeeper mode: ZooKeeper was read, and no migration to KRaft is under way. Reported
    once per cluster.

Remedies, safest first
    A rolling upgrade to 3.9 with inter.broker.protocol.version raised afterwards, then the migration to KRaft.

Do not
    Do not upgrade from ZooKeeper straight to 4.0: it does not start. Do not upgrade a cluster that has other findings:
    repair it first.

Sources
    Kafka: KIP-833, release notes of 3.9 and 4.0; the project fixes the last three lines only. 2.8 was released in
    2021. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.derive.versions import line_of
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL
from kfix_diagnostics.prevention._prevention import setting_rows

#: The oldest line that is reported as advice; older ones are warnings.
OLDEST = (3, 0)


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    known = case.settings(NEWEST_PROTOCOL)
    spoken = known or ({} if case.kraft else case.settings(PROTOCOL))
    lines = [line for line in map(line_of, spoken.values()) if line is not None]
    old = bool(lines) and min(lines) < OLDEST
    if not old and not case.zookeeper_rules:
        return
    release = ".".join(map(str, min(lines))) if lines else ""
    parts = (
        [f"Kafka {release}{'' if known else ' or newer'} is from a release line that no longer gets fixes"]
        if old
        else []
    )
    if case.zookeeper_rules:
        parts.append("ZooKeeper mode ended with 3.9: Kafka 4.0 supports KRaft only")
    yield Finding(
        severity=Severity.WARNING if old and known else Severity.INFO,
        obj="release",
        summary="; ".join(parts),
        cause=Cause("the cluster was not upgraded", Confidence.CERTAIN if known else Confidence.POSSIBLE),
        evidence=tuple(_evidence(case)),
        remedies=(
            Remedy(
                "Plan a rolling upgrade to 3.9, raise inter.broker.protocol.version, then migrate to KRaft"
                if case.zookeeper_rules
                else "Plan a rolling upgrade, line by line as the upgrade notes require"
            ),
        ),
        never=(
            "Do not upgrade a cluster that has other findings: repair it first",
            *(() if case.kraft else ("Do not upgrade from ZooKeeper straight to 4.0",)),
        ),
    )


def _evidence(case: CaseFile) -> Iterator[Evidence]:
    yield from setting_rows(case.settings(NEWEST_PROTOCOL), "protocol version that the software supports")
    yield from setting_rows(case.settings(PROTOCOL), PROTOCOL)
    if case.zookeeper_rules:
        yield Evidence(case.zookeeper_name, "mode", "the brokers are registered in ZooKeeper")
