"""KFX812 quorum-at-risk: a KRaft controller is dead, far behind, on another disk, or no voter.

Why it matters
    Clients do not notice while a majority of the voters is alive. If one more is lost, no controller is active, and
    nothing in Kafka can change (KFX811). A voter that lags cannot be elected, and does not count towards the majority.
    A controller at whose address nothing listens still votes, but could not be reached if it became the active one.
    A quorum of two voters stops if either is lost, so two are worse than one. One voter beside controllers that were
    never added is no safer than a single controller.

How kfix knows
    The active controller reports when each voter last fetched the metadata log, and up to which offset. kfix also asks
    each controller at its own listener: one that fetches is alive, even if kfix cannot reach it. In a dynamic quorum
    (KIP-853) a voter is a node with the directory id of its disk: after the disk was replaced or formatted again, the
    node fetches with a new directory id as an observer, and the voter with the old one is dead. A controller that
    answers and is not among one or two voters was removed and not added again, or never added.

Remedies, safest first
    Start the controller with its old disk, or repair the network between it and the active one. It catches up by
    itself. After its disk was replaced in a dynamic quorum: quorum-replace-voter removes the voter with the old
    directory id, which is dead, and adds the controller with the disk that it has. If the disk is lost: format a new
    one with kafka-storage.sh format --no-initial-controllers, and start the controller with it first. A controller that
    is no voter: quorum-add-voter. Where the disk of the voter is whole, and another one was put back: start the
    controller with that of the voter.

Do not
    Do not restart the other controllers: they are the quorum. Do not start it with an empty disk.

Sources
    Kafka 3.9.2 and 4.3.1, DescribeQuorum; KIP-836 for the times, KIP-853 for directory ids. See docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.quorum import answering, majority
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import KRAFT_FEATURE, ControllerAnswer, QuorumReplica, QuorumView
from kfix.core.wording import ago, are, ids, several
from kfix_diagnostics._advice import runbook, servers
from kfix_diagnostics.quorum._controllers import controller_rows, named, replica_rows

#: A voter fetches at least every 0.5 s; after 2 s without the leader (controller.quorum.fetch.timeout.ms) it wants to
#: be elected itself.
_SILENT = 5.0
#: The same for one whose own listener does not answer: both together are no pause.
_SILENT_AND_GONE = 1.5
#: A quorum of two voters, or of one, stops if any is lost.
_TOO_FEW = 2
_REPLACE = "quorum-replace-voter"
#: A voter that has fetched within this time runs.
_FETCHES = 1.0


@ClusterCheck(scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return
    asked = {each.node: each for each in sorted(quorum.controllers, key=lambda each: each.answered)}
    dated = any(each.fetched >= 0 for each in (*quorum.voters, *quorum.observers))
    failing = [v for v in quorum.voters if v.node != quorum.leader and _is_failing(v, asked.get(v.node), dated=dated)]
    left = len(quorum.voters) - len(failing)
    for voter in failing:
        other = _with_another_disk(voter, quorum)
        if other is not None:
            yield _on_another_disk(voter, other, quorum, left, case)
        else:
            yield _finding(voter, asked.get(voter.node), quorum, left, case)
    if not failing and len(quorum.voters) <= _TOO_FEW:
        yield from _not_added(quorum, case)
    for voter in quorum.voters:
        if voter not in failing and voter.node != quorum.leader and (refused := _refused_at(voter, quorum)):
            yield _not_reached(voter, refused, quorum)


def _is_failing(voter: QuorumReplica, answer: ControllerAnswer | None, *, dated: bool) -> bool:
    gone = answer is not None and not answer.answered
    if voter.fetched >= 0:
        return voter.fetched >= (_SILENT_AND_GONE if gone else _SILENT) or voter.caught_up >= _SILENT
    # It has not fetched since this controller was elected; a follower does so within moments. Before Kafka 3.3 no fetch
    # is dated.
    return gone or dated


def _with_another_disk(voter: QuorumReplica, quorum: QuorumView) -> QuorumReplica | None:
    """Returns the same node as it fetches with another directory id. An entry that fetches no more is an older one.

    A voter that fetches itself has its disk: the other entry is of a disk that it had before.
    """
    if 0 <= voter.fetched < _SILENT:
        return None
    same = (each for each in quorum.observers if each.node == voter.node and each.directory != voter.directory)
    return next((each for each in same if voter.directory and each.directory and 0 <= each.fetched < _SILENT), None)


def _refused_at(voter: QuorumReplica, quorum: QuorumView) -> str:
    """Returns an address of a voter that fetches, at which nothing listens; "" if no controller answers here at all."""
    if not 0 <= voter.fetched < _FETCHES or not any(each.answered for each in quorum.controllers):
        return ""
    return next((each.address for each in quorum.controllers if each.node == voter.node and each.refused), "")


def _finding(
    voter: QuorumReplica, answer: ControllerAnswer | None, quorum: QuorumView, left: int, case: CaseFile
) -> Finding:
    there = answer is not None and answer.answered
    fetching = 0 <= voter.fetched < (_SILENT if there else _SILENT_AND_GONE)
    what = "has lagged behind" if fetching else "has not followed the active one" if there else "has been gone"
    since = voter.caught_up if fetching else voter.fetched
    when = f" for {ago(since)}" if since >= 0 else " since the last election"
    calm = not fetching and not there and case.may_restart(voter.node, since if since >= 0 else None)
    replaceable = not fetching and not there and _may_change(quorum) and left >= majority(len(quorum.voters))
    unless = ", unless its old one is lost for good" if replaceable else ""
    return Finding(
        severity=Severity.INFO if calm else Severity.WARNING,
        obj=f"controller {voter.node}",
        summary=f"controller {voter.node} {what}{when}: {_left(left, quorum)}"
        f"{'. This may be a restart' if calm else ''}",
        cause=_cause(answer, fetching=fetching),
        evidence=(*replica_rows(quorum.voters, quorum, "voter"), *controller_rows(quorum)),
        remedies=(
            *_remedies(voter, there=there, fetching=fetching),
            *([_with_a_new_disk(voter.node, case)] if replaceable else []),
        ),
        never=(
            "Do not restart the other controllers: they are the quorum",
            f"Do not start controller {voter.node} with an empty disk{unless}",
        ),
        # A node that is a broker, too, is cut off as both.
        follows=(f"KFX813:broker {voter.node}",),
        lasted=since,
    )


def _left(left: int, quorum: QuorumView) -> str:
    spare = left - majority(len(quorum.voters))
    then = (
        "that is no majority, so no change is committed"
        if spare < 0
        else "losing one more stops every change"
        if spare == 0
        else f"the quorum can lose {spare} more"
    )
    return f"{left} of {several(len(quorum.voters), 'voter')} left; {then}"


def _on_another_disk(
    voter: QuorumReplica, other: QuorumReplica, quorum: QuorumView, left: int, case: CaseFile
) -> Finding:
    node, old, new = voter.node, voter.directory, other.directory
    since = f" for {ago(voter.fetched)}" if voter.fetched >= 0 else " since the last election"
    late = other.caught_up >= _SILENT
    return Finding(
        obj=f"controller {node}",
        summary=f"controller {node} runs with another disk and is no voter any more: the voter has directory id {old}, "
        f"which has been gone{since}, and the controller has {new}. {_left(left, quorum)}",
        cause=Cause(
            "its disk was replaced or formatted again, or an earlier one was put back: the voter is the one with "
            f"directory id {old}",
            Confidence.CERTAIN,
        ),
        evidence=(
            *replica_rows(quorum.voters, quorum, "voter"),
            *replica_rows([other], quorum, "observer"),
            *controller_rows(quorum),
        ),
        remedies=tuple(_voter_again(node, old, case, late=late, changes=left >= majority(len(quorum.voters)))),
        never=(
            "Do not restart the other controllers: they are the quorum",
            f"Do not add controller {node} before its voter is removed: Kafka refuses a second voter with its id",
        ),
        lasted=voter.fetched,
    )


def _voter_again(node: int, old: str, case: CaseFile, *, late: bool, changes: bool) -> Iterator[Remedy]:
    """Yields how a controller becomes a voter again; without a majority the quorum commits no change of its voters."""
    its_own = f"the disk with directory id {old} is whole: stop controller {node}, and start it with that one"
    if not changes:
        yield Remedy(f"If {its_own}")
        return
    first = f"If controller {node} has caught up: remove" if late else "Remove"
    yield runbook(
        case,
        _REPLACE,
        f"{first} the voter with directory id {old}, which is dead, and add controller {node} with the disk it has "
        "now: neither costs the quorum its majority",
        f"node={node}",
    )
    yield Remedy(f"Or, if {its_own}")


def _with_a_new_disk(node: int, case: CaseFile) -> Remedy:
    return runbook(
        case,
        _REPLACE,
        f"If its disk is lost for good: format a new one with kafka-storage.sh format --no-initial-controllers, start "
        f"controller {node} with it, then make it a voter with that disk",
        f"node={node}",
    )


def _may_change(quorum: QuorumView) -> bool:
    """Returns whether the voters may change (KIP-853)."""
    return quorum.features.get(KRAFT_FEATURE, 0) > 0


def _at_the_active_one(quorum: QuorumView) -> str:
    """Returns the option that names the active controller, "" where it did not answer at an address.

    After an election a broker may forward these two requests to the controller of before, and keeps doing so
    (docs/facts/kraft.md).
    """
    return next((f"--bootstrap-controller {each.address}" for each in quorum.controllers if each.active), "")


def _not_added(quorum: QuorumView, case: CaseFile) -> Iterator[Finding]:
    """Yields a finding if more controllers answer than the few that are voters. The ids of some may be unknown."""
    voters, alive = sorted(each.node for each in quorum.voters), answering(quorum)
    if len(alive) <= len(voters):
        return
    others = [each for each in alive if each.node not in voters]
    exact = len(others) == len(alive) - len(voters)
    who = named(others) if exact else f"one of {named(others)}"
    one = len(voters) == 1
    voting = "the controller that votes" if one else "either of the two controllers that vote"
    yield Finding(
        obj="voters",
        summary=f"the quorum has {several(len(voters), 'voter')}, {ids(voters)}: losing "
        f"{'it' if one else 'either'} stops every change. "
        f"{who[0].upper()}{who[1:]} {are(len(others) if exact else 1)} alive, and no voter",
        cause=Cause("it was removed and not added again, or never added", Confidence.POSSIBLE),
        evidence=(*replica_rows(quorum.voters, quorum, "voter"), *controller_rows(quorum)),
        remedies=tuple(_adding(who, quorum, case)),
        never=(f"Do not restart {voting} before that",),
    )


def _adding(who: str, quorum: QuorumView, case: CaseFile) -> Iterator[Remedy]:
    """Yields a runbook for each controller that follows as an observer; where none is known by its id, Kafka's tool."""
    voters, brokers = {each.node for each in quorum.voters}, {*case.snapshot.addresses, *case.snapshot.views}
    follow = {each.node for each in quorum.observers if 0 <= each.fetched < _SILENT} - voters - brokers
    for node in sorted(follow if _may_change(quorum) else ()):
        yield runbook(case, "quorum-add-voter", f"Make controller {node} a voter", f"node={node}")
    if not follow or not _may_change(quorum):
        yield Remedy(
            f"Add {who} as a voter, on its own host and with its own properties file. If Kafka answers that the "
            "voter is not ready, add it again",
            f"kafka-metadata-quorum.sh {_at_the_active_one(quorum) or servers(case)} "
            "--command-config controller.properties add-controller",
        )


def _not_reached(voter: QuorumReplica, address: str, quorum: QuorumView) -> Finding:
    node = voter.node
    return Finding(
        obj=f"controller {node}",
        summary=f"controller {node} is alive and follows, but nothing listens at {address}, the address it advertises "
        "to others: it could not be reached there if it became the active controller",
        cause=Cause("the address that it advertises, or the address in the settings of the others, is wrong"),
        evidence=(*replica_rows([voter], quorum, "voter"), *controller_rows(quorum)),
        remedies=(
            Remedy(
                f"Correct advertised.listeners of controller {node}, or its address in controller.quorum.voters of "
                "every broker and controller. Restart one after the other, and only while all other voters follow"
            ),
        ),
        never=(f"Do not restart another controller before controller {node} is back",),
    )


def _cause(answer: ControllerAnswer | None, *, fetching: bool) -> Cause:
    if fetching:
        return Cause("it is slow: its disk, its network or its host", Confidence.POSSIBLE)
    if answer is not None and answer.refused:
        return Cause("it is dead: nothing listens at its address", Confidence.CERTAIN)
    if answer is not None and answer.answered:
        return Cause("it is alive, and cut off from the active controller")
    return Cause("it is dead or frozen, or cut off from the active controller and from kfix")


def _remedies(voter: QuorumReplica, *, there: bool, fetching: bool) -> Iterator[Remedy]:
    if fetching:
        yield Remedy(f"Find out why controller {voter.node} is slow: its disk first")
        return
    if not there:
        yield Remedy(f"Start controller {voter.node} with its old disk; end its process first if it is frozen")
    yield Remedy(f"Repair the network between controller {voter.node} and the others")
