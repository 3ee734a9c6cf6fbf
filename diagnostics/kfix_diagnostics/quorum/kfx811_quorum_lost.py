"""KFX811 quorum-lost: no KRaft controller is active.

Why it matters
    Clients continue to work from frozen metadata, but no leader is elected when a broker dies, no ISR shrinks or grows,
    no topic is created and no broker that starts can register. A dead broker stays listed as alive. With a dead
    follower acks=all times out although the record is appended, and offset commits fail. The metadata proves nothing
    about the present.

How kfix knows
    kfix asks every controller at its own listener (DescribeQuorum): exactly the active one answers without an error.
    None does: each voter answers that it is not active, or refuses the connection. If controllers cannot be reached
    from kfix's host, it takes two signs together: the same request through a broker gets no answer, and no broker
    applies any new metadata, of which an active controller writes two records a second. An election takes seconds, so
    it must persist. No answer shows when the quorum was lost. If an earlier snapshot on this host found the metadata at
    the same offset, it has not advanced since then.

Remedies, safest first
    Start controllers until a majority of the voters is alive; the process of a frozen one must be killed first. The
    cluster recovers by itself, within seconds, without losing anything that was committed. Only if the disks of so many
    controllers are lost that no majority can be started: quorum-recover makes one controller the only voter, from the
    longest copy of the metadata log that is left; brokers hold copies, too.

Do not
    Do not start or restart brokers before that: without an active controller they do not start. Do not format or wipe a
    controller's disk. Do not send changes: a request that waits for a frozen controller is carried out when it resumes.

Sources
    Kafka 3.9.2 and 4.3.1: a single controller killed or stopped, two of three killed. See docs/facts/kraft.md.
"""

from collections.abc import Iterator, Sequence

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.quorum import answering, majority, not_answering, quorum_lost
from kfix.core.diagnosis.finding import Ban, Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import ControllerAnswer, QuorumView
from kfix.core.wording import ago, are, does, several
from kfix_diagnostics._advice import cluster_options, diagnose_again
from kfix_diagnostics._bans import NO_CHANGES, no_start
from kfix_diagnostics.quorum._controllers import applied_row, controller_rows, named


@ClusterCheck(severity=Severity.CRITICAL, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum_lost(quorum):
        return
    missing = not_answering(quorum)
    yield Finding(
        severity=Severity.CRITICAL,
        obj="controller quorum",
        summary=f"no KRaft controller is active: {_who(quorum)}. Clients continue to work from frozen metadata, but no "
        f"leader can be elected{_since(case)}",
        cause=_cause(quorum, missing),
        evidence=tuple(_evidence(case, quorum)),
        blocked=Blocked("every change: elections, ISR changes, new topics, brokers that start"),
        remedies=(
            *_remedies(case, quorum, missing),
            diagnose_again(case, "Then diagnose again. Change nothing before that"),
        ),
        never=(
            "Do not start or restart brokers before that: without an active controller they do not start",
            "Do not format or wipe the disk of a controller",
            "Do not send changes to the cluster: they may be carried out later, when a controller resumes",
        ),
        forbids=(NO_CHANGES, *_no_start(case, quorum)),
    )


def _no_start(case: CaseFile, quorum: QuorumView) -> Iterator[Ban]:
    """Yields a ban of the start of dead brokers, but not of one that is a controller, too."""
    voters = {*quorum.configured, *(each.node for each in quorum.controllers)}
    if brokers := [b for b in case.dead if b not in voters]:
        yield no_start(brokers)


def _who(quorum: QuorumView) -> str:
    missing, there = not_answering(quorum), answering(quorum)
    if not quorum.controllers:
        return "no address of a controller is known, and no broker receives new metadata"
    if not there:
        return f"{named(missing)} {does(len(missing))} not respond"
    if not missing:
        return f"{named(there)} {are(len(there))} alive, and none is elected"
    return f"{named(missing)} {does(len(missing))} not respond, and {named(there)} {are(len(there))} not active"


def _cause(quorum: QuorumView, missing: Sequence[ControllerAnswer]) -> Cause:
    voters = len(quorum.configured) or len(quorum.controllers)
    if not missing:
        return Cause("the controllers do not reach each other")
    refused = [each for each in missing if each.refused]
    if voters - len(missing) < majority(voters) and len(refused) == len(missing):
        dead = f"{named(refused)} {are(len(refused))} dead"
        return Cause(f"{dead}: {majority(voters)} of {several(voters, 'voter')} must be alive", Confidence.CERTAIN)
    text = f"{named(missing)} {are(len(missing))} dead or frozen, or cut off from the others and from kfix"
    return Cause(text)


def _evidence(case: CaseFile, quorum: QuorumView) -> Iterator[Evidence]:
    yield from controller_rows(quorum)
    yield from applied_row(quorum)
    still = _still(case, quorum)
    if still:
        yield Evidence("earlier snapshots", "metadata offset applied", f"{quorum.newest_applied}, no more since", still)


def _since(case: CaseFile) -> str:
    still = _still(case, case.snapshot.quorum) if case.snapshot.quorum is not None else 0.0
    return f". The metadata has stood still for {ago(still)} at least" if still else ""


def _still(case: CaseFile, quorum: QuorumView) -> float:
    """Returns for how many seconds no broker has applied new metadata, at least; 0 where no snapshot shows it."""
    first = case.snapshot.memory.applied.get(quorum.newest_applied)
    return 0.0 if first is None else max(0.0, case.snapshot.taken_at - first)


def _remedies(case: CaseFile, quorum: QuorumView, missing: Sequence[ControllerAnswer]) -> Iterator[Remedy]:
    if not missing:
        yield Remedy("Repair the network between the controllers, until a majority of them reach each other")
        return
    voters = len(quorum.configured) or len(quorum.controllers)
    few = voters > 1 and len(missing) > voters - majority(voters)
    enough = f", until {majority(voters)} of {voters} are alive" if few else ""
    hung = [each for each in missing if not each.refused]
    ending = f". End the process first where it is frozen: {named(hung)}" if hung else ""
    yield Remedy(f"Start {named(missing)} with the old disk{enough}{ending}")
    yield Remedy("If they are running: repair the network between the controllers")
    if voters - len(missing) < majority(voters):
        yield _recovery(case, quorum, missing)


def _recovery(case: CaseFile, quorum: QuorumView, missing: Sequence[ControllerAnswer]) -> Remedy:
    """Only an operator knows that a disk is lost, and the paths: no request shows those of controllers.

    Where the voters may change, only the addresses of controllers are known, and not the ids.
    """
    lost = sorted(each.node for each in missing)
    left = sorted(each.node for each in answering(quorum)) or lost
    known = min(*lost, *left) >= 0
    names = f"-p lost={','.join(map(str, lost))} -p node={left[0]}" if known else "-p lost=ID,ID -p node=ID"
    return Remedy(
        f"Only if the disks of {named(missing)} are lost for good: recover the quorum from the copies of the metadata "
        "log that are left, with one controller as the only voter (docs/runbooks.md). Name the log directories of the "
        "brokers and of the other controllers",
        f"kfix runbook plan quorum-recover {cluster_options(case)} {names} -p copies=/LOG_DIR,/LOG_DIR "
        "-p into=/NEW_LOG_DIR",
    )
