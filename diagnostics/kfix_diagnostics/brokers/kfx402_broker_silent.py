"""KFX402 broker-silent: a broker is registered but does not answer.

Why it matters
    Nobody elects other leaders while it is registered, so everything it leads and coordinates hangs, without any
    metric of the other brokers moving. A frozen process accepts connections and never answers.

How kfix knows
    It is registered in ZooKeeper, was asked over a connection of its own, and gave no answer within the deadline, while
    other brokers did. From kfix's place only: whether others reach it is not known.

What helps
    Look from another machine first: a firewall in front of kfix looks the same. If it is frozen, stop its process; its
    session ends and its partitions get other leaders. Then find out why: stop signals, disk, garbage collection.

What not to do
    No elections: a registered broker that is frozen may be elected again. Do not restart the others.

Sources
    Kafka 2.7.1: leaders change when the session ends, not when a broker is slow. Seen with SIGSTOP on real brokers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._words import count

CODE = "KFX402"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # Where nobody answers it is kfix that is cut off; KFX901 says so.
    if not case.views:
        return
    for broker, why in sorted(case.silent.items()):
        yield _silent(broker, why, case)


def _silent(broker: int, why: str, case: CaseFile) -> Finding:
    leads = case.leads.get(broker, 0)
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL if leads else Severity.WARNING,
        obj=f"broker {broker}",
        summary=f"broker {broker} is registered but does not answer; it leads {count(leads, 'partition')}",
        cause=Cause("its process hangs or is frozen, or the way from kfix to it is cut", Confidence.LIKELY),
        evidence=(
            Evidence(f"broker {broker}", f"asked at {case.address(broker) or 'its address'}", why or "no answer"),
            *live_row(case),
        ),
        blocked=Blocked(f"clients of what broker {broker} leads and coordinates" if leads else ""),
        remedies=(
            Remedy(f"look from another machine whether broker {broker} answers there"),
            Remedy("if it is frozen: stop its process, so that its session ends and others lead; then start it again"),
        ),
        never=("no elections while it is registered: it may be elected again", "do not restart the other brokers"),
        token=str(case.registrations[broker].czxid) if broker in case.registrations else "",
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="broker-silent",
    title="a registered broker does not answer",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
