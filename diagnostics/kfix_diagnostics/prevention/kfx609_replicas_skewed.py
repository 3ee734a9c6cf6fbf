"""KFX609 replicas-skewed: a broker holds more than twice its share of the replicas.

Why it matters
    Its disks fill first, its death makes most partitions under-replicated, and replacing it means copying all of that
    through one host. Brokers that were added to share the load hold nothing: Kafka moves nothing by itself.

How kfix knows
    Replicas counted by the assignments over the live brokers: more than twice the fair share and at least 10, or all of
    them. Judged only while every broker is present and none has just started. Numbers of replicas, not bytes: kfix does
    not read sizes for this.

Remedies, safest first
    A reassignment to the brokers that hold little, in batches and throttled.

Do not
    Do not move everything at once, and do not forget to remove the throttle afterwards.

Sources
    Kafka: "the new servers will not automatically be assigned any data partitions" (documentation, expanding your
    cluster). See docs/facts/operations.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding
from kfix.core.wording import brokers_named
from kfix_diagnostics._advice import move_replicas
from kfix_diagnostics.prevention._prevention import NEVER_AT_ONCE, overloaded


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if not case.steady:
        return
    high = overloaded(case.holds, case)
    if high:
        yield _skewed(high, case)


def _skewed(high: tuple[int, ...], case: CaseFile) -> Finding:
    live = sorted(case.live or ())
    total = sum(case.holds.get(broker, 0) for broker in live)
    empty = [broker for broker in live if not case.holds.get(broker, 0)]
    said = " and ".join(f"broker {broker} holds {case.holds[broker]}" for broker in high)
    return Finding(
        obj="replicas",
        summary=f"{said} of {total} replicas; the fair share of each of {len(live)} brokers is {total // len(live)}",
        cause=Cause(f"Kafka moves nothing by itself to new brokers, such as {brokers_named(empty)}")
        if empty
        else Cause("topics were created or moved without regard to what the brokers hold", Confidence.POSSIBLE),
        evidence=(Evidence("assignment", "replicas", ", ".join(f"{b}: {case.holds.get(b, 0)}" for b in live)),),
        remedies=(move_replicas(case, "Reassign replicas to the brokers that hold few, throttled and in batches"),),
        never=(NEVER_AT_ONCE,),
    )
