"""KFX611 many-partitions: about as many replicas as a broker or a cluster is known to handle well.

Why it matters
    Each replica costs open files, memory maps and a share of every leader change. When a broker with thousands of
    leaders dies, they stay unavailable while the controller elects one after the other; a new controller on ZooKeeper
    reads all of them before it acts. The cost shows in an incident, not before.

How kfix knows
    Replicas by the assignments: 4000 on one broker, 200 000 in a cluster on ZooKeeper; from 80 % of that on it is
    advice. On KRaft it is advice throughout: ZooKeeper does not bound the total there, but the limit per broker holds.

Remedies, safest first
    Fewer partitions: delete unused topics, and topics with far more partitions than consumers. More brokers, and
    replicas moved to them. Limits of the host that go with it: open files, vm.max_map_count (two maps per segment).

Do not
    Do not create topics with many partitions for a throughput that may come one day: the number cannot be lowered.

Sources
    Kafka's blog, "Apache Kafka Supports 200K Partitions Per Cluster" (2018, since 1.1): up to 4000 per broker and 200
    000 per cluster as a rule of thumb. See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy, Severity
from kfix.core.wording import brokers_named, has, some

PER_BROKER = 4_000
PER_CLUSTER = 200_000


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    near = [broker for broker, held in sorted(case.holds.items()) if _near(held, PER_BROKER)]
    if near:
        yield _of_brokers(near, case)
    total = sum(case.holds.values())
    if _near(total, PER_CLUSTER) and not case.kraft:
        yield _of_cluster(total)


def _near(held: int, limit: int) -> bool:
    return 10 * held >= 8 * limit


def _of_brokers(near: list[int], case: CaseFile) -> Finding:
    most = max(case.holds[broker] for broker in near)
    over = most >= PER_BROKER and not case.kraft
    rows = [f"{broker}: {case.holds[broker]}" for broker in sorted(near, key=lambda b: (-case.holds[b], b))]
    return Finding(
        severity=Severity.WARNING if over else Severity.INFO,
        obj="a broker",
        summary=f"{brokers_named(near)} {has(len(near))} up to {most} replicas; {PER_BROKER} per broker are known to "
        "work well",
        cause=Cause("more partitions than the brokers are meant to hold"),
        evidence=(Evidence("assignment", "replicas per broker", some(rows)),),
        remedies=_remedies(),
        never=_never(),
    )


def _of_cluster(total: int) -> Finding:
    return Finding(
        severity=Severity.WARNING if total >= PER_CLUSTER else Severity.INFO,
        obj="the cluster",
        summary=f"the cluster has {total} replicas; {PER_CLUSTER} on ZooKeeper are known to work well",
        cause=Cause("more partitions than one controller on ZooKeeper is meant to handle"),
        evidence=(Evidence("assignment", "replicas of all brokers", str(total)),),
        remedies=_remedies(),
        never=_never(),
    )


def _remedies() -> tuple[Remedy, ...]:
    return (
        Remedy("Delete unused topics, and plan fewer partitions for new ones"),
        Remedy("Add brokers and move replicas to them. Check the limits on open files and vm.max_map_count"),
    )


def _never() -> tuple[str, ...]:
    return ("Do not create many partitions for throughput that may be needed one day: their number cannot be reduced",)
