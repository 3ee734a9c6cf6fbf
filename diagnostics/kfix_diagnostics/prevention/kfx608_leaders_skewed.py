"""KFX608 leaders-skewed: a broker leads more than twice its share.

Why it matters
    All reads and writes of a partition go through its leader: one broker does the work of several, and its death moves
    all of it at once. After a rolling restart the last broker leads nothing and the first ones lead everything; this
    remains if auto.leader.rebalance.enable is off.

How kfix knows
    Leaders counted over the live brokers: more than twice the fair share and at least 10 partitions, or all of them.
    Judged only while every broker is present and none has just started: otherwise it is the consequence of something
    else.

Remedies, safest first
    If other brokers are preferred: return the leadership to them, which loses nothing (runbook leader-balance). If the
    preferred leaders themselves are uneven: another order of the replicas, which copies no data.

Do not
    Do not restart the busy broker to move its leaders away: they come back the same way, or do not come back at all.

Sources
    Kafka: auto.leader.rebalance.enable, leader.imbalance.per.broker.percentage (Kafka itself tolerates 10 %). See
    docs/facts/operations.md.
"""

from collections.abc import Iterator, Mapping

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy
from kfix.core.wording import brokers_named, several
from kfix_diagnostics._advice import move_replicas, runbook
from kfix_diagnostics.prevention._prevention import OTHER_LEADERS, overloaded, setting_rows, tps_of

REBALANCE = "auto.leader.rebalance.enable"


@RiskOfCluster(rows="leader != preferred and preferred_in_live_isr")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if not case.steady:
        return
    high = overloaded(case.leads, case)
    if high:
        yield _skewed(high, rows, case)


def _skewed(high: tuple[int, ...], rows: Rows, case: CaseFile) -> Finding:
    live = sorted(case.live or ())
    total = sum(case.leads.get(broker, 0) for broker in live)
    held = [row for row in rows if row.leader in high]
    uneven = bool(overloaded(case.preferred, case))
    said = " and ".join(f"broker {broker} leads {case.leads[broker]}" for broker in high)
    return Finding(
        obj="leaders",
        summary=f"{said} of {total} partitions; the fair share of each of {len(live)} brokers is {total // len(live)}",
        cause=Cause("the preferred leaders themselves are uneven", Confidence.CERTAIN)
        if uneven
        else Cause(f"{brokers_named(high)} took over, and the leadership was not returned"),
        evidence=(
            _counts("leaders", case.leads, live),
            _counts("preferred leaders", case.preferred, live),
            *setting_rows(case.settings(REBALANCE), REBALANCE),
        ),
        remedies=tuple(_remedies(held, case, uneven=uneven)),
        never=("Do not restart the busy broker to move its leaders away",),
        partitions=tps_of(held),
        follows=("KFX609:replicas",) if uneven else (),
    )


def _remedies(held: list[PartitionFacts], case: CaseFile, *, uneven: bool) -> Iterator[Remedy]:
    if held:
        yield runbook(
            case,
            "leader-balance",
            f"Return the leadership of {several(len(held), 'partition')} to the preferred leaders, in batches",
        )
    if uneven or not held:
        yield move_replicas(case, OTHER_LEADERS)


def _counts(what: str, counted: Mapping[int, int], live: list[int]) -> Evidence:
    return Evidence("brokers", what, ", ".join(f"{broker}: {counted.get(broker, 0)}" for broker in live))
