"""KFX812 quorum-at-risk: a KRaft controller is dead or far behind, while the others serve.

Why it matters
    Clients do not notice while a majority of the voters stands. If one more is lost, no controller is active, and
    nothing in Kafka can change (KFX811). A voter that lags cannot be elected, and counts for no majority.

How kfix knows
    The active controller reports when each voter last fetched the metadata log, and how far it has come. kfix also asks
    each controller at its own listener: one that fetches is alive, even if kfix cannot reach it.

Remedies, safest first
    Start the controller with its old disk, or repair the network between it and the active one. It catches up by
    itself.

Do not
    Do not restart the other controllers: they are the quorum. Do not start it with an empty disk.

Sources
    Kafka 3.9.2 and 4.3.1, DescribeQuorum; KIP-836 for the times. See docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.quorum import majority
from kfix.model.cluster.quorum import ControllerAnswer, QuorumReplica, QuorumView
from kfix.model.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix.wording import ago, several
from kfix_diagnostics.quorum._controllers import controller_rows, replica_rows

CODE = "KFX812"
#: A voter fetches at least every 0.5 s; after 2 s without the leader (controller.quorum.fetch.timeout.ms) it wants to
#: be elected itself.
_SILENT = 5.0
#: The same for one whose own listener does not answer: both together are no pause.
_SILENT_AND_GONE = 1.5


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    asked = {each.node: each for each in quorum.controllers}
    dated = any(each.fetched >= 0 for each in (*quorum.voters, *quorum.observers))
    lame = [v for v in quorum.voters if v.node != quorum.leader and _lame(v, asked.get(v.node), dated=dated)]
    left = len(quorum.voters) - len(lame)
    for voter in lame:
        yield _finding(voter, asked.get(voter.node), quorum, left, case)


def _lame(voter: QuorumReplica, answer: ControllerAnswer | None, *, dated: bool) -> bool:
    gone = answer is not None and not answer.answered
    if voter.fetched >= 0:
        return voter.fetched >= (_SILENT_AND_GONE if gone else _SILENT) or voter.caught_up >= _SILENT
    # It has not fetched since this controller was elected; a follower does so within moments. Before Kafka 3.3 no fetch
    # is dated.
    return gone or dated


def _finding(
    voter: QuorumReplica, answer: ControllerAnswer | None, quorum: QuorumView, left: int, case: CaseFile
) -> Finding:
    there = answer is not None and answer.answered
    fetching = 0 <= voter.fetched < (_SILENT if there else _SILENT_AND_GONE)
    what = "has lagged behind" if fetching else "has not followed the active one" if there else "has been gone"
    since = voter.caught_up if fetching else voter.fetched
    when = f" for {ago(since)}" if since >= 0 else " since the last election"
    spare = left - majority(len(quorum.voters))
    then = "the loss of one more stops every change" if spare <= 0 else f"the quorum can lose {spare} more"
    calm = not fetching and not there and case.may_restart(voter.node, since if since >= 0 else None)
    return Finding(
        code=CODE,
        severity=Severity.INFO if calm else Severity.WARNING,
        obj=f"controller {voter.node}",
        summary=f"controller {voter.node} {what}{when}: {left} of {several(len(quorum.voters), 'voter')} left, {then}"
        f"{'. This may be a restart' if calm else ''}",
        cause=_cause(answer, fetching=fetching),
        evidence=(*replica_rows(quorum.voters, quorum, "voter"), *controller_rows(quorum)),
        remedies=tuple(_remedies(voter, there=there, fetching=fetching)),
        never=(
            "Do not restart the other controllers: they are the quorum",
            f"Do not start controller {voter.node} with an empty disk",
        ),
        # A node that is a broker, too, is cut off as both.
        follows=(f"KFX813:broker {voter.node}",),
        lasted=since,
    )


def _cause(answer: ControllerAnswer | None, *, fetching: bool) -> Cause:
    if fetching:
        return Cause("it is slow: its disk, its network or its host", Confidence.POSSIBLE)
    if answer is not None and answer.refused:
        return Cause("it is dead: nothing listens at its address", Confidence.CERTAIN)
    if answer is not None and answer.answered:
        return Cause("it is alive, and cut off from the active controller", Confidence.LIKELY)
    return Cause("it is dead or frozen, or cut off from the active controller and from kfix", Confidence.LIKELY)


def _remedies(voter: QuorumReplica, *, there: bool, fetching: bool) -> Iterator[Remedy]:
    if fetching:
        yield Remedy(f"Find out why controller {voter.node} is slow: its disk first")
        return
    if not there:
        yield Remedy(f"Start controller {voter.node} with its old disk; end its process first if it is frozen")
    yield Remedy(f"Repair the network between controller {voter.node} and the others")


CHECK = ClusterCheck(
    code=CODE,
    slug="quorum-at-risk",
    title="a KRaft controller is dead or far behind",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.HELD,
)
