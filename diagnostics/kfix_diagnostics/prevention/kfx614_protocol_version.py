"""KFX614 protocol-version: the brokers speak different protocol versions, or an older one than they could.

Why it matters
    An upgrade has two halves: the programs, then inter.broker.protocol.version. Where the second was forgotten the new
    program runs with the old faults: below 2.7 leaders write the isr into ZooKeeper themselves, below 2.8 topics have
    no id, below 3.4 there is no way to KRaft. Where brokers differ, what a partition can do depends on who leads.

How kfix knows
    The setting of each broker against each other's, and against the version that its own program speaks, by lines such
    as 2.7. A rolling upgrade shows the same while it lasts. What a broker did not tell is not judged,
    nor is the setting on KRaft.

What helps
    Finish the upgrade: the same program everywhere; when all is well raise inter.broker.protocol.version, with a
    second rolling restart.

What not to do
    Do not raise it before every broker has the new program: older ones cannot follow. It cannot be lowered again
    safely.

Sources
    Kafka: upgrade notes of every line ("once you have verified the behaviour, bump the protocol version"); KIP-497
    (AlterIsr, 2.7-IV2), KIP-516 (topic ids, 2.8), KIP-866 (migration to KRaft, 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.naming import brokers_named
from kfix.model.cluster.snapshot import NEWEST_PROTOCOL
from kfix.model.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix_diagnostics.prevention._prevention import PROTOCOL, Line, line_of, setting_rows

CODE = "KFX614"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    # KRaft goes by metadata.version: a setting that was left over says nothing there.
    spoken = {} if case.kraft else _lines(PROTOCOL, case)
    known = _lines(NEWEST_PROTOCOL, case)
    if len(set(known.values())) > 1:
        yield _finding("programs", f"brokers run different lines: {_told(known)}", "make them the same", case)
    if len(set(spoken.values())) > 1:
        text = f"{PROTOCOL} differs: {_told(spoken)}"
        yield _finding("protocols", text, f"set {PROTOCOL} alike on every broker, with a rolling restart", case)
    behind = {broker: line for broker, line in spoken.items() if broker in known and line < known[broker]}
    if behind and len(set(known.values())) == 1 and len(set(spoken.values())) == 1:
        newest = _name(max(known.values()))
        text = f"{PROTOCOL} is {_name(max(behind.values()))}, the programs speak {newest}"
        yield _finding("behind", text, f"raise {PROTOCOL} to {newest}, with a rolling restart", case, Severity.INFO)


def _lines(key: str, case: CaseFile) -> dict[int, Line]:
    found = {broker: line_of(text) for broker, text in case.settings(key).items()}
    return {broker: line for broker, line in found.items() if line is not None}


def _name(line: Line) -> str:
    return ".".join(map(str, line))


def _told(lines: dict[int, Line]) -> str:
    return ", ".join(
        f"{_name(line)} on {brokers_named(b for b, other in lines.items() if other == line)}"
        for line in sorted(set(lines.values()))
    )


def _finding(obj: str, summary: str, helps: str, case: CaseFile, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        code=CODE,
        severity=severity,
        obj=obj,
        summary=summary,
        cause=Cause("an upgrade is under way, or was not finished", Confidence.LIKELY),
        evidence=(
            *setting_rows(case.settings(PROTOCOL), PROTOCOL),
            *setting_rows(case.settings(NEWEST_PROTOCOL), "protocol that the program speaks"),
        ),
        remedies=(Remedy(f"finish the upgrade: {helps}"),),
        never=("do not raise the protocol version before every broker has the new program",),
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="protocol-version",
    title="brokers speak different protocol versions, or an older one than they could",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
