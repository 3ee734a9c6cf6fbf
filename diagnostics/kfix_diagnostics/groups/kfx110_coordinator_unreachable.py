"""KFX110 coordinator-unreachable: the address of a group's coordinator cannot be reached from here.

Why it matters
    Clients ask any broker for the coordinator of their group, get an address, and connect to that one only. If it is
    wrong for the network where they run, every other request works and the group hangs with disconnects or timeouts.

How kfix knows
    `kfix diagnose --group G` asks for the coordinator as a client does and connects to the host and port of the answer.
    The host name does not resolve here, or the connection is refused or gets no answer. This is the view from the host
    of kfix: run it where the consumers run.

Remedies, safest first
    Compare the address with advertised.listeners of that broker, and with DNS and the firewall where the clients run.
    Correct whichever is wrong. advertised.listeners is a dynamic setting since 1.1: no restart is needed where it was
    set with kafka-configs.sh, and a restart of that one broker where it is in server.properties.

Do not
    Do not move the partition to another broker to get another coordinator: the other groups of the broker stay cut off.
    Do not restart brokers before the address is corrected.

Sources
    FindCoordinator names the listener on which it was asked. Reproduced on real brokers of 2.7.1. See
    docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import GroupReading, by_group
from kfix_diagnostics._advice import diagnose_group, servers


@ClusterCheck(severity=Severity.CRITICAL, scope=Scope.GROUP)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    latest = (readings[-1] for readings in by_group(case.snapshot.group_readings).values())
    cut_off = ((each.coordinator, each) for each in latest if each.unconnected)
    found = grouped(((broker, str(each.endpoint)), each) for broker, each in cut_off if broker is not None)
    for (broker, address), reached in sorted(found.items()):
        yield _unreachable(broker, address, reached, case)


def _unreachable(broker: int, address: str, readings: list[GroupReading], case: CaseFile) -> Finding:
    groups = tuple(sorted(each.group for each in readings))
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"coordinator on broker {broker}",
        summary=f"the coordinator is broker {broker} at {address}, and it cannot be reached from here: "
        f"{readings[0].unconnected}",
        cause=Cause(
            f"advertised.listeners of broker {broker}, DNS or a firewall is wrong for clients here, or the broker "
            "process has just ended"
        ),
        evidence=(Evidence("FindCoordinator", f"group {groups[0]}", f"broker {broker} at {address}"),),
        blocked=Blocked("clients of these groups that connect from here", groups),
        remedies=(
            Remedy(
                f"Compare {address} with advertised.listeners of broker {broker}, and correct it there or in DNS",
                f"kafka-configs.sh {servers(case)} --describe --all --entity-type brokers --entity-name {broker}",
            ),
            diagnose_group(case, groups[0], "Repeat this where the consumers run: only their network path matters"),
        ),
        never=("Do not move the offsets partition to get another coordinator: other groups stay cut off",),
        follows=(f"KFX402:broker {broker}", f"KFX401:broker {broker}", f"KFX807:broker {broker}"),
        token=address,
    )
