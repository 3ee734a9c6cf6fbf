"""KFX816 metadata-version-behind: a feature of a KRaft cluster is below what its software supports.

Why it matters
    An upgrade of a KRaft cluster has two halves: the software, then the features. Without the second half the cluster
    keeps the old limits of metadata.version, and a later release may refuse to start with it. Without eligible leader
    replicas (KIP-966), an ISR that shrinks to its last member is no protection: an unclean election is all that is left
    if that one is lost.

How kfix knows
    Every broker and controller reports the highest metadata.version that it supports, and which one is in force. It is
    judged only if all of them report it. A broker that is registered and dead counts with the version that it ran last,
    which nothing reports; it may block the upgrade.

Remedies, safest first
    Finish the upgrade of the software, and remove registrations of brokers that are gone for good. Then raise
    metadata.version by raise-metadata-version, when the cluster has been healthy for a while. Then, on Kafka 4.1 and
    later, switch eligible leader replicas on.

Do not
    Do not raise it while a downgrade to the older release is possible: metadata.version cannot be lowered again safely.

Sources
    Kafka 3.9.2 upgraded to 4.3.1; KIP-584, KIP-778, KIP-966, and the upgrade notes of 4.1 for the features that are on
    by default. See docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows, Scope
from kfix.core.derive.versions import line_of_level
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import ELR_FEATURE, METADATA_FEATURE, QuorumView
from kfix.core.wording import brokers_named
from kfix_diagnostics._advice import runbook, servers

#: The first metadata.version with which eligible leader replicas can be on (4.0-IV1), and that of Kafka 4.1, from which
#: on new clusters have them.
_ELR_POSSIBLE, _ELR_USUAL = 23, 26


@RiskOfCluster(severity=Severity.INFO, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read or METADATA_FEATURE not in quorum.features:
        return
    nodes = case.views.keys() | {each.node for each in quorum.voters}
    if not nodes <= quorum.supported.keys():
        return
    now, common = quorum.features[METADATA_FEATURE], min(quorum.supported.values())
    if now < common:
        yield _behind(now, common, quorum, case)
    if common >= _ELR_USUAL and not quorum.elr:
        yield _without_elr(now, quorum, case)


def _behind(now: int, common: int, quorum: QuorumView, case: CaseFile) -> Finding:
    older = sorted(node for node, level in quorum.supported.items() if level == common < max(quorum.supported.values()))
    more = f"; older than the others: {', '.join(f'node {node}' for node in older)}" if older else ""
    blocking, line = tuple(_unblocking(case)), line_of_level(common)
    text = f"When the cluster is healthy, and no downgrade to the older release is planned: raise {METADATA_FEATURE}"
    raising = Remedy(text)
    if not older and not blocking and line is not None:
        raising = runbook(case, "raise-metadata-version", text, "version={}.{}".format(*line))
    return Finding(
        severity=Severity.INFO,
        obj=METADATA_FEATURE,
        summary=f"{METADATA_FEATURE} is {now}, and every broker and controller supports {common}{more}",
        cause=Cause("an upgrade is under way, or was not finished"),
        evidence=(
            Evidence("brokers", METADATA_FEATURE, f"{now} in force"),
            *(
                Evidence(f"node {node}", METADATA_FEATURE, f"supports up to {level}")
                for node, level in sorted(quorum.supported.items())
            ),
        ),
        remedies=(*blocking, raising),
        never=(f"Do not raise {METADATA_FEATURE} while a downgrade to the older release is possible",),
    )


def _unblocking(case: CaseFile) -> Iterator[Remedy]:
    """Yields what may block the upgrade: registered brokers whose last version nothing reports."""
    for broker in (b for b in case.ghosts if not case.may_restart(b, case.ghost_for(b))):
        text = f"Broker {broker} is gone but still registered, and blocks the upgrade if it ran an older release"
        yield runbook(
            case, "remove-ghost-registration", f"{text}: if it never returns, unregister it", f"broker={broker}"
        )
    if case.dead:
        yield Remedy(f"Start {brokers_named(case.dead)} with the new release: a dead broker counts with its old one")


def _without_elr(now: int, quorum: QuorumView, case: CaseFile) -> Finding:
    first = f"First raise {METADATA_FEATURE}, which is {now}. Then switch" if now < _ELR_POSSIBLE else "Switch"
    return Finding(
        severity=Severity.INFO,
        obj=ELR_FEATURE,
        summary="eligible leader replicas are off, and every broker and controller supports them",
        cause=Cause("the cluster was created by an older release, or they were switched off"),
        evidence=(Evidence("brokers", ELR_FEATURE, str(quorum.features.get(ELR_FEATURE, 0))),),
        remedies=(
            Remedy(
                f"{first} eligible leader replicas on. Kafka then sets a cluster-wide min.insync.replicas and removes "
                "the setting of each broker, and a partition with an empty ISR waits for a replica that has all its "
                "records",
                f"kafka-features.sh {servers(case)} upgrade --feature {ELR_FEATURE}=1",
            ),
        ),
        never=("Do not switch them on while a partition has no leader",),
    )
