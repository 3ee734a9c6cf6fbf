"""KFX614 protocol-version: brokers use different protocol versions, or an older one than they support.

Why it matters
    An upgrade has two halves: the software, then inter.broker.protocol.version. Without the second half the new
    software has the old limits: below 2.7 leaders write the ISR into ZooKeeper themselves, below 2.8 topics have no id,
    below 3.4 there is no migration to KRaft. If brokers differ, what a partition can do depends on its leader.

How kfix knows
    The setting of each broker against each other's, and against the version that its own software supports, by lines
    such as 2.7. A rolling upgrade shows the same while it lasts. A setting that a broker did not report is not judged,
    nor is the setting on KRaft.

Remedies, safest first
    Finish the upgrade: the same software on every broker; when the cluster is healthy raise
    inter.broker.protocol.version, with a second rolling restart.

Do not
    Do not raise it before every broker has the new software: older brokers cannot follow. It cannot be lowered again
    safely.

Sources
    Kafka: upgrade notes of every line ("once you have verified the behaviour, bump the protocol version"); KIP-497
    (AlterIsr, 2.7-IV2), KIP-516 (topic ids, 2.8), KIP-866 (migration to KRaft, 3.4).
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows, Scope
from kfix.core.derive.versions import Line, line_of
from kfix.core.diagnosis.finding import Cause, Finding, Severity
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL
from kfix.core.wording import brokers_named
from kfix_diagnostics._bans import restart
from kfix_diagnostics.prevention._prevention import setting_rows


@RiskOfCluster(scope=Scope.ZOOKEEPER)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # KRaft uses metadata.version: a left-over setting means nothing there.
    spoken = {} if case.kraft else _lines(PROTOCOL, case)
    known = _lines(NEWEST_PROTOCOL, case)
    if len(set(known.values())) > 1:
        yield _finding(
            "programs",
            f"brokers run different releases: {_lines_named(known)}",
            "run the same release everywhere",
            case,
        )
    if len(set(spoken.values())) > 1:
        text = f"{PROTOCOL} differs between brokers: {_lines_named(spoken)}"
        yield _finding("protocols", text, f"set the same {PROTOCOL} on every broker by a rolling restart", case)
    behind = {broker: line for broker, line in spoken.items() if broker in known and line < known[broker]}
    if behind and len(set(known.values())) == 1 and len(set(spoken.values())) == 1:
        newest = _name(max(known.values()))
        text = f"{PROTOCOL} is {_name(max(behind.values()))}, but the brokers support {newest}"
        yield _finding("behind", text, f"raise {PROTOCOL} to {newest} by a rolling restart", case, Severity.INFO)


def _lines(key: str, case: CaseFile) -> dict[int, Line]:
    found = {broker: line_of(text) for broker, text in case.settings(key).items()}
    return {broker: line for broker, line in found.items() if line is not None}


def _name(line: Line) -> str:
    return ".".join(map(str, line))


def _lines_named(lines: dict[int, Line]) -> str:
    return ", ".join(
        f"{_name(line)} on {brokers_named(b for b, other in lines.items() if other == line)}"
        for line in sorted(set(lines.values()))
    )


def _finding(obj: str, summary: str, helps: str, case: CaseFile, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        severity=severity,
        obj=obj,
        summary=summary,
        cause=Cause("an upgrade is under way, or was not finished"),
        evidence=(
            *setting_rows(case.settings(PROTOCOL), PROTOCOL),
            *setting_rows(case.settings(NEWEST_PROTOCOL), "protocol version that the software supports"),
        ),
        remedies=(restart(f"Finish the upgrade: {helps}"),),
        never=("Do not raise the protocol version before every broker has the new software",),
    )
