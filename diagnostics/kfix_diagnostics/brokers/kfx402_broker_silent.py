"""KFX402 broker-silent: a registered broker does not respond.

Why it matters
    No other leaders are elected while it is registered, so everything it leads and coordinates hangs, and no metric of
    the other brokers changes. A frozen process accepts connections and never answers. If it is the controller, no
    leader is elected and no ISR shrinks anywhere, until its session ends.

How kfix knows
    It is registered in ZooKeeper, kfix asked it over a separate connection, and it gave no answer within the timeout,
    while other brokers did. This is only the view from kfix's host: whether other hosts reach it is unknown.

Remedies, safest first
    If its host name does not resolve, or nothing listens at its address: correct advertised.listeners, or start it.
    Otherwise check from another host first: a firewall in front of kfix has the same effect. If it is frozen, kill it;
    its session then ends and its partitions get other leaders. Then find the reason: stop signals, disk, garbage
    collection.

Do not
    Do not trigger elections: a registered broker that is frozen may be elected again. Do not restart the other brokers.

Sources
    Kafka 2.7.1: leaders change when the session ends, not when a broker is slow. Reproduced with SIGSTOP on real
    brokers. See docs/facts/running-brokers.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, continued, several
from kfix_diagnostics._advice import servers, start
from kfix_diagnostics._bans import no_election, restart, starts
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._explained import REFUSED, UNRESOLVED


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # Where no broker answers, kfix is cut off itself, which KFX901 reports.
    if not case.views:
        return
    for broker, why in sorted(case.silent.items()):
        yield _silent(broker, why, case)


def _silent(broker: int, why: str, case: CaseFile) -> Finding:
    leads = case.leads.get(broker, 0)
    controls = case.controller is not None and case.controller.broker == broker
    return Finding(
        severity=Severity.CRITICAL if leads or controls else Severity.WARNING,
        obj=f"broker {broker}",
        summary=_summary(broker, why, case, controls=controls),
        cause=Cause(_cause(why)),
        evidence=(
            Evidence(f"broker {broker}", f"asked at {case.address(broker) or 'its address'}", why or "no answer"),
            *((Evidence(case.zookeeper_name, "/controller", f"broker {broker}"),) if controls else ()),
            *live_row(case),
        ),
        blocked=Blocked(_blocked(broker, why) if leads else ""),
        remedies=tuple(_remedies(broker, why, case, controls=controls)),
        never=(
            f"Do not trigger elections where broker {broker} is in the ISR: it may be elected while it is registered",
            "Do not restart other brokers because of it",
        ),
        forbids=(no_election(_in_isr(broker, case)),),
        token=str(case.registrations[broker].czxid) if broker in case.registrations else "",
    )


def _remedies(broker: int, why: str, case: CaseFile, *, controls: bool) -> Iterator[Remedy]:
    """Yields what fits the error: a process is only killed where it may be frozen."""
    describe = f"kafka-configs.sh {servers(case)} --describe --all --entity-type brokers --entity-name {broker}"
    where = case.address(broker) or "its address"
    if UNRESOLVED in why:
        yield Remedy(f"Correct DNS or advertised.listeners of broker {broker}: {where} does not resolve here", describe)
        return
    if REFUSED in why:
        yield Remedy(
            f"Check on its host whether the process of broker {broker} runs. If so, advertised.listeners is wrong: "
            f"nothing listens at {where}"
        )
        yield starts(Remedy(f"If it does not: {continued(start((broker,), case))}"), (broker,))
        return
    yield Remedy(f"Check from another host whether broker {broker} responds there")
    others = "another broker becomes controller" if controls else "others can be elected"
    yield restart(f"If it is frozen: kill its process, so that its session ends and {others}. Then start it", broker)


def _in_isr(broker: int, case: CaseFile) -> Iterator[TopicPartition]:
    tps = dict.fromkeys(case.snapshot.zookeeper.states if case.snapshot.zookeeper is not None else ())
    for view in case.views.values():
        tps |= dict.fromkeys(view.partitions)
    return (tp for tp in tps if broker in case.isr(tp))


def _cause(why: str) -> str:
    if UNRESOLVED in why:
        return "the host name that it advertises does not resolve here: advertised.listeners or DNS is wrong"
    if REFUSED in why:
        return "its process has just ended, or nothing listens at the address that it advertises"
    return "its process hangs or is frozen, or the network between kfix and the broker is cut"


def _blocked(broker: int, why: str) -> str:
    whose = f"of the partitions and groups that broker {broker} serves"
    return f"clients {whose}, where its host name does not resolve either" if UNRESOLVED in why else f"clients {whose}"


def _summary(broker: int, why: str, case: CaseFile, *, controls: bool) -> str:
    """Returns what is known of it: one whose host name does not resolve may work."""
    leads, where = case.leads.get(broker, 0), case.address(broker) or "its address"
    if UNRESOLVED in why:
        text = f"broker {broker} cannot be reached at the address that it advertises, {where}"
        return f"{text}: it leads {several(leads, 'partition')}" if leads else f"{text}; it leads no partition"
    text = f"broker {broker} is registered but does not respond"
    if controls:
        text += "; it is the controller, so no leader is elected while it hangs"
    if not leads:
        return f"{text}; it leads no partition"
    return f"{text}: {several(leads, 'partition')} that it leads {are(leads)} unavailable"
