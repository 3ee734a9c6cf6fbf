"""KFX613 end-of-life: the cluster runs on what gets no more fixes: an old line of Kafka, or ZooKeeper mode.

Why it matters
    Faults that are known and mended elsewhere stay in: stale controller writes that make leaderless partitions, stuck
    coordinators, security holes. And the way out gets longer: to KRaft it goes over 3.9, the last line with ZooKeeper.

How kfix knows
    The protocol version that each broker's own program speaks, as DescribeConfigs tells it as the default of
    inter.broker.protocol.version. Where a broker does not tell it, the setting itself: then the program may be newer,
    and it is advice. ZooKeeper mode: ZooKeeper was read, and no migration to KRaft is under way. Told once a cluster.

What helps
    A rolling upgrade to 3.9 with inter.broker.protocol.version raised afterwards, then the migration to KRaft.

What not to do
    Do not jump to 4.0 from ZooKeeper: it does not start. Do not upgrade a cluster that has findings above: mend it
    first.

Sources
    Kafka: KIP-833, release notes of 3.9 and 4.0; the project mends the last three lines only. 2.8 is of 2021.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.cluster.snapshot import NEWEST_PROTOCOL
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics.prevention._prevention import PROTOCOL, line_of, setting_rows

CODE = "KFX613"
#: The oldest line that is not hopelessly old; what is older is told as a warning.
OLDEST = (3, 0)


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    told = case.settings(NEWEST_PROTOCOL)
    spoken = told or ({} if case.kraft else case.settings(PROTOCOL))
    lines = [line for line in map(line_of, spoken.values()) if line is not None]
    old = bool(lines) and min(lines) < OLDEST
    if not old and not case.zookeeper_rules:
        return
    release = ".".join(map(str, min(lines))) if lines else ""
    parts = [f"Kafka {release}{'' if told else ' or newer'} is of a line that gets no more fixes"] if old else []
    if case.zookeeper_rules:
        parts.append("ZooKeeper mode ended with 3.9: 4.0 knows KRaft only")
    yield Finding(
        code=CODE,
        severity=Severity.WARNING if old and told else Severity.INFO,
        obj="release",
        summary="; ".join(parts),
        cause=Cause("the cluster was not upgraded", Confidence.CERTAIN if told else Confidence.POSSIBLE),
        evidence=tuple(_evidence(case)),
        remedies=(
            Remedy(
                "plan a rolling upgrade to 3.9, raise inter.broker.protocol.version, then migrate to KRaft"
                if case.zookeeper_rules
                else "plan a rolling upgrade, line by line as the upgrade notes say"
            ),
        ),
        never=("do not upgrade a cluster that has other findings: mend it first", "do not jump from ZooKeeper to 4.0"),
    )


def _evidence(case: CaseFile) -> Iterator[Evidence]:
    yield from setting_rows(case.settings(NEWEST_PROTOCOL), "protocol that the program speaks")
    yield from setting_rows(case.settings(PROTOCOL), PROTOCOL)
    if case.zookeeper_rules:
        yield Evidence(case.zookeeper_name, "mode", "the brokers are registered in ZooKeeper")


CHECK = ClusterCheck(
    code=CODE,
    slug="end-of-life",
    title="an old line of Kafka, or ZooKeeper mode: no more fixes",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
