"""KFX701 not-collected: a cluster of the inventory could not be looked at.

Why it matters
    Nobody knows how it is. What was the matter with it before is neither mended nor worse: it is unknown, and stays in
    the report as unknown. A cluster that is never collected falls out of everybody's sight.

How kfix knows
    The run's manifest: every cluster of the inventory is either stored, or failed with its reason.

What helps
    `kfix diagnose` against that cluster from the machine of the audit shows the same error, with a hint. Then mend the
    address, the rights or the network, or take the cluster out of the inventory.

What not to do
    Do not mute it: a muted cluster that nobody reads is no cluster at all.

Sources
    kfix itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kfix.model.audit.fleetcase import FleetCase, FleetCheck
from kfix.model.audit.inventory import ClusterEntry
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity

CODE = "KFX701"


def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, why in sorted(case.failed.items()):
        read = case.last_read.get(name)
        last = f"last read on {read.isoformat()}" if read else "never read"
        yield (
            name,
            Finding(
                code=CODE,
                severity=Severity.WARNING,
                obj="cluster",
                summary=f"could not be looked at, {last}: nobody knows how it is",
                cause=Cause(why, Confidence.CERTAIN),
                evidence=(Evidence("the run", "collecting", why),),
                remedies=(Remedy("see it from the machine of the audit", _command(case.entries.get(name))),),
                never=("do not take what was not read for healthy",),
            ),
        )


def _command(entry: ClusterEntry | None) -> str:
    if entry is None or not (entry.bootstrap or entry.zookeeper):
        return ""
    words = ["kfix", "diagnose"]
    for option, value in (
        ("--bootstrap-server", entry.bootstrap),
        ("--zookeeper", entry.zookeeper),
        ("--command-config", entry.command_config),
    ):
        words += [option, value] if value else []
    return shlex.join(words)


CHECK = FleetCheck(
    code=CODE,
    slug="not-collected",
    title="a cluster of the inventory could not be looked at",
    severity=Severity.WARNING,
    check=check,
)
