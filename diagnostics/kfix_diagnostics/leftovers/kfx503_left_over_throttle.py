"""KFX503 left-over-throttle: replication is throttled although no reassignment is under way.

Why it matters
    A replica that falls behind, for example at the next restart, catches up at the throttled rate: it can stay out of
    the ISR for hours, or forever. Tools that move replicas set throttles and remove them at the end; a tool that was
    killed leaves them behind, and nothing in Kafka shows it.

How kfix knows
    A rate (leader or follower.replication.throttled.rate) is set on brokers, replicas (leader or
    follower.replication.throttled.replicas) on topics, and neither the controller nor ZooKeeper has a reassignment
    under way. Only both together throttle; where one of the two is set alone, this is advice.

Remedies, safest first
    Finish or abort what set them: if a kfix run on this host is unfinished, the diagnosis names it, and resuming or
    aborting that run removes them. Otherwise use the runbook sweep-throttles, which refuses while anything is being
    moved.

Do not
    Do not remove throttles while replicas are moved: the copy then takes all the bandwidth that clients need.

Sources
    Kafka 2.7.1: ReplicationQuotaManager.isThrottled; DynamicConfig.Broker; KIP-73. See docs/facts/operations.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Severity
from kfix.core.numbers import whole_number
from kfix.core.wording import brokers_named, rate_text, some
from kfix_diagnostics._advice import runbook

_SIDES = ("leader", "follower")
#: What a broker reports where no rate was set: Long.MAX_VALUE.
_NO_RATE = {"", str(2**63 - 1)}
_SHOWN = 6


@ClusterCheck()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.moving is not False:
        return
    rates = {
        (broker, key): value
        for key in (f"{side}.replication.throttled.rate" for side in _SIDES)
        for broker, value in case.settings(key).items()
        if value not in _NO_RATE
    }
    # An empty list of replicas throttles nothing.
    lists = {
        (topic, key): value
        for key in (f"{side}.replication.throttled.replicas" for side in _SIDES)
        for topic, value in case.own_settings(key).items()
        if value
    }
    if not rates and not lists:
        return
    brokers = tuple(dict.fromkeys(broker for broker, _ in sorted(rates)))
    topics = tuple(dict.fromkeys(topic for topic, _ in sorted(lists)))
    yield Finding(
        severity=Severity.WARNING if rates and lists else Severity.INFO,
        obj="replication throttles",
        summary=f"{_what(brokers, topics)}, and no reassignment is under way",
        cause=Cause("the tool that set the throttles was killed, or did not remove them"),
        evidence=tuple(_rows(rates, lists, case)),
        remedies=(
            runbook(case, "sweep-throttles", "Remove the throttles. The runbook refuses while anything is being moved"),
        ),
        headline="" if rates and lists else "replication throttles are left over",
        never=("Do not remove throttles while replicas are being moved: the copy takes the bandwidth of the clients",),
    )


def _what(brokers: tuple[int, ...], topics: tuple[str, ...]) -> str:
    if not topics:
        return (
            f"a replication throttle rate is set on {brokers_named(brokers)}, although no topic has throttled replicas"
        )
    named = f"topic{'' if len(topics) == 1 else 's'} {some(topics)}"
    if not brokers:
        return f"replicas of {named} are marked as throttled, although no broker has a rate"
    return f"replication of {named} is throttled on {brokers_named(brokers)}"


def _rows(rates: dict[tuple[int, str], str], lists: dict[tuple[str, str], str], case: CaseFile) -> Iterator[Evidence]:
    for (broker, key), value in sorted(rates.items())[:_SHOWN]:
        number = whole_number(value)
        yield Evidence(f"broker {broker}", key, f"{value} bytes/s" if number is None else rate_text(number))
    for (topic, key), value in sorted(lists.items())[:_SHOWN]:
        yield Evidence(case.record_name, f"topic {topic}: {key}", value if len(value) <= 80 else f"{value[:80]} ...")
