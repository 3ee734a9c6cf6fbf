"""KFX815 controller-unsteady: an active controller is elected again and again.

Why it matters
    Each election stops every change for a moment: no leader is elected, no ISR shrinks, no broker can register.
    Requests that a deposed controller had accepted time out with an unknown result. Clients do not notice until a
    broker dies.

How kfix knows
    The leader epoch of the quorum grows with each election. kfix remembers in which epoch it found the quorum, and when
    (the last hour of snapshots on this host). A failover adds one, a rolling restart one for each controller that was
    active, more before Kafka 4.0: fewer elections than two for each voter, or a controller or broker that was down in
    that time, are advice, not an alarm; so is a quorum without an election for a minute. One snapshot shows an epoch
    and not when it began: without a snapshot of the ten minutes before on this host, this finding cannot appear.
    Diagnose again a minute later, or keep `kfix watch` running.

Remedies, safest first
    Read the logs of the controllers: why the active one resigns, or why it does not reach the others. Pauses, a slow
    disk and a bad link are the usual reasons; before Kafka 4.0 one voter that the active controller does not reach
    deposes it. A controller that fails on a record resigns each time it is elected.

Do not
    Do not restart the controllers one after the other: each restart is another election.

Sources
    Kafka 4.3.1: an active controller stopped and continued again and again. Kafka 3.9.2 and 4.3.1: epochs of a quorum
    (KIP-595, KIP-996). See docs/facts/kraft.md.
"""

from collections.abc import Iterator, Mapping

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.wording import ago, several, some
from kfix_diagnostics._advice import diagnose_again
from kfix_diagnostics._bans import no_restart

#: Seconds in which the elections are counted, and after which a quorum without a new one counts as steady.
_WINDOW = 600.0
_STEADY = 60.0
_FEW = 3


@ClusterCheck(debounce=Debounce.NONE, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    taken = case.snapshot.taken_at
    known = {e: at for e, at in case.snapshot.memory.epochs.items() if 0 < taken - at <= _WINDOW}
    first = min(known, default=quorum.epoch)
    elections = quorum.epoch - first
    if elections >= _FEW:
        yield _finding(case, quorum, known, elections)


def _finding(case: CaseFile, quorum: QuorumView, known: Mapping[int, float], elections: int) -> Finding:
    since = case.snapshot.taken_at - known[quorum.epoch - elections]
    away = _away(case, quorum, since)
    steady = _steady(quorum.epoch, known, case.snapshot.taken_at)
    # A restart of a voter costs elections, so twice as many are no alarm where one was seen away.
    alarm = elections > 2 * len(quorum.voters) * (2 if away else 1) and not steady
    nodes = tuple(sorted(v.node for v in quorum.voters))
    return Finding(
        severity=Severity.WARNING if alarm else Severity.INFO,
        obj="active controller",
        summary=f"the KRaft quorum has had {several(elections, 'election')} within {ago(since)}: controller "
        f"{quorum.leader} is active now, in leader epoch {quorum.epoch}"
        f"{'. It has been stable since' if steady else '' if alarm else '. A rolling restart causes as many'}",
        cause=_cause(away),
        evidence=(
            *(
                Evidence("earlier snapshots", "leader epoch of the quorum", str(epoch), case.snapshot.taken_at - at)
                for epoch, at in sorted(known.items())
            ),
            Evidence(f"controller {quorum.leader}", "leader epoch of the quorum", str(quorum.epoch)),
        ),
        remedies=(
            Remedy(
                f"Read the logs of controllers {some(nodes)} for the elections and their reasons: "
                "grep -E 'Renouncing|Resigned|CandidateState|ProspectiveState|LeaderState' LOG. Then check for "
                "pauses, a slow disk or a bad link there"
            ),
            diagnose_again(case, "Then diagnose again: it is over once the leader epoch no longer grows"),
        ),
        never=("Do not restart the controllers one after the other: each restart is another election",),
        forbids=(no_restart(nodes),) if alarm else (),
        follows=tuple(f"KFX812:controller {node}" for node in nodes),
    )


def _steady(epoch: int, known: Mapping[int, float], now: float) -> bool:
    """Returns whether earlier snapshots have found no other epoch for a while."""
    older = [at for each, at in known.items() if each < epoch]
    return epoch in known and now - max(older) > _STEADY


def _away(case: CaseFile, quorum: QuorumView, since: float) -> tuple[int, ...]:
    """Returns the voters that an earlier snapshot of this time did not find alive."""
    voters, start = {v.node for v in quorum.voters}, case.snapshot.taken_at - since
    return tuple(sorted(n for n, at in case.snapshot.memory.dead.items() if at >= start and n in voters))


def _cause(away: tuple[int, ...]) -> Cause:
    if away:
        return Cause(f"a restart: {some([f'node {n}' for n in away])} did not respond meanwhile")
    return Cause(
        "no node was seen to be down: the active controller pauses, or a link between controllers is faulty",
        Confidence.UNKNOWN,
    )
