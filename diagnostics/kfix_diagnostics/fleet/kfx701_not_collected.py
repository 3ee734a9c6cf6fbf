"""KFX701 not-collected: a cluster of the inventory could not be read.

Why it matters
    Its state is unknown. Earlier findings of it are neither fixed nor worse: they stay in the report as unknown. A
    cluster that is never collected is soon forgotten.

How kfix knows
    The manifest of the run: every cluster of the inventory is either stored, or failed with its reason.

Remedies, safest first
    `kfix diagnose` against that cluster from the host of the audit shows the same error, with a hint. Then correct the
    address, the rights or the network, or remove the cluster from the inventory.

Do not
    Do not mute it: a muted cluster that is never read is not monitored at all.

Sources
    kfix itself.
"""

import shlex
from collections.abc import Iterator

from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy
from kfix.core.fleetcase import FleetCase, FleetCheck
from kfix.core.inventory.model import ClusterEntry


@FleetCheck()
def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, why in sorted(case.failed.items()):
        read = case.last_read.get(name)
        last = f"last collected on {read.isoformat()}" if read else "never collected"
        finding = Finding(
            obj="cluster",
            summary=f"could not be read, {last}; state unknown",
            cause=Cause(why, Confidence.CERTAIN),
            evidence=(Evidence("the run", "collecting", why),),
            remedies=(Remedy("Diagnose it from the host of the audit", _command(case.entries.get(name))),),
            never=("Do not assume that what was not read is healthy",),
        )
        yield name, finding


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
