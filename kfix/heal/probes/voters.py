"""Probes about single voters of a KRaft quorum: which may be removed, which may be added, and whether it was done.

A quorum works while a majority of its voters follows. A change of the voters changes what a majority is, so each rule
counts the voters that follow now against the majority of the quorum that the change makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kfix.core.args import ArgKind, Args
from kfix.core.derive.quorum import majority
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.voters import DEAD, QuorumVoters, parsed_joining, parsed_voters
from kfix.core.wording import ago, ids, several
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about_cluster
from kfix.heal.probes.base import probe

#: The facts of the voters, and of the controllers that could become voters.
FACTS: Final = about_cluster("voters", "joining")
STATIC: Final = (
    "the voters of this quorum are static (kraft.version 0) and cannot change: a controller with a new disk, formatted "
    "with the id of the cluster, is the same voter and catches up by itself"
)
#: How a controller is started that is to become a voter.
TO_START: Final = (
    "format its disk with kafka-storage.sh format --no-initial-controllers and the id of the cluster, and start it: it "
    "follows as an observer"
)


def of_node(args: Args, read: ReadFact) -> Args:
    """Adds the directory id of the voter (`directory`) and of the controller that follows as an observer (`by`).

    Either is "" if there is none, or more than one.
    """
    if "by" in args:
        return args
    node = args.number("node")
    voters, joining = (str(read(key).value) for key in FACTS)
    candidates = [each.directory for each in parsed_joining(joining) if each.node == node]
    by = candidates[0] if len(candidates) == 1 else ""
    return args.with_(directory=parsed_voters(voters).get(node, ""), by=by)


@probe(
    "the voter is dead, its controller follows with another disk, and the other voters are a majority without it",
    {"node": ArgKind.BROKER},
    {"directory": ArgKind.TEXT, "by": ArgKind.TEXT},
    reads=lambda _: FACTS,
    freeze=of_node,
)
def voter_may_be_removed(args: Args, reader: ClusterReader) -> Answer:
    """The voter with this directory id may be removed, since its controller runs with another disk (`by`) by now.

    A voter is removed only if it is dead and its controller is ready to take its place, and if those of the other
    voters that follow are a majority of the quorum that is left. A static quorum cannot change.
    """
    node, old, new = args.number("node"), args.text("directory"), args.text("by")
    found = reader.voters()
    why = why_kept(found, node, old, new)
    observed = why or f"{_following(found)}; controller {node} follows with directory id {new}"
    return judge(not why, observed, f"voter {node} with directory id {old} is dead, and the others are a majority")


@probe(
    "the controller follows as an observer, and the voters that follow are a majority even if it fails at once",
    {"node": ArgKind.BROKER},
    {"by": ArgKind.TEXT},
    reads=lambda _: FACTS,
    freeze=lambda args, read: of_node(args, read).only("node", "by"),
)
def voter_may_be_added(args: Args, reader: ClusterReader) -> Answer:
    """The controller with this directory id (`by`) may become a voter.

    It has caught up as an observer, no voter has its id, and the voters that follow are a majority of the quorum that
    it makes, even if it fails at once. Only from one voter to two this cannot be: each of two is needed.
    """
    node, new = args.number("node"), args.text("by")
    found = reader.voters()
    why = why_not_added(found, node, new)
    observed = why or f"{_following(found)}; controller {node} follows with directory id {new}"
    return judge(not why, observed, f"controller {node} has caught up, and the voters are a majority without it")


@probe("no voter has this directory id", {"node": ArgKind.BROKER, "directory": ArgKind.TEXT})
def voter_removed(args: Args, reader: ClusterReader) -> Answer:
    node, directory = args.number("node"), args.text("directory")
    voter = reader.voters().voter(node)
    there = voter is not None and voter.directory == directory
    what = f"{node} with directory id {directory} is no voter"
    return judge(not there, f"voter {node}: {voter.directory if voter else 'none'}", what)


@probe("the controller is a voter with this directory id", {"node": ArgKind.BROKER, "directory": ArgKind.TEXT})
def voter_added(args: Args, reader: ClusterReader) -> Answer:
    node, directory = args.number("node"), args.text("directory")
    voter = reader.voters().voter(node)
    what = f"{node} is a voter with directory id {directory}"
    return judge(
        voter is not None and voter.directory == directory,
        f"voter {node}: {voter.directory if voter else 'none'}",
        what,
    )


@probe("the controller is a voter, and follows", {"node": ArgKind.BROKER})
def voter_follows(args: Args, reader: ClusterReader) -> Answer:
    node, found = args.number("node"), reader.voters()
    voter = found.voter(node)
    what = "no voter" if voter is None else "a voter that follows" if node in found.following else "a voter that lags"
    observed = f"controller {node} is {what}; {_following(found)}"
    return judge(node in found.following, observed, f"controller {node} is a voter that follows")


def why_kept(found: QuorumVoters, node: int, old: str, new: str) -> str:
    """Returns why the voter has to stay, "" if it may be removed."""
    return next(_against_removal(found, node, old, new), "")


def _against_removal(found: QuorumVoters, node: int, old: str, new: str) -> Iterator[str]:
    voter, left = found.voter(node), len(found.voters) - 1
    if not found.dynamic:
        yield STATIC
    elif voter is None:
        yield f"controller {node} is no voter: quorum-add-voter adds it"
    elif voter.directory != old:
        yield f"voter {node} has directory id {voter.directory}"
    elif node == found.leader:
        yield f"controller {node} is the active one: it runs with the disk of its voter"
    elif 0 <= voter.fetched < DEAD:
        yield f"voter {node} has fetched within the last {ago(DEAD)}: it runs with the disk of its voter"
    yield from _not_ready(found, node, new)
    others = [each for each in found.following if each != node]
    if len(others) < majority(left):
        needed = f"{majority(left)} of {several(left, 'voter')} have to follow without voter {node}"
        yield f"{needed}, and only {len(others)} {'does' if len(others) == 1 else 'do'}; {_lagging(found, node)}"


def why_not_added(found: QuorumVoters, node: int, new: str) -> str:
    """Returns why the controller may not become a voter, "" if it may."""
    return next(_against_addition(found, node, new), "")


def _against_addition(found: QuorumVoters, node: int, new: str) -> Iterator[str]:
    voter, count = found.voter(node), len(found.voters)
    if not found.dynamic:
        yield STATIC
    elif voter is not None and new:
        yield f"voter {node} has directory id {voter.directory}: quorum-replace-voter removes it first"
    elif voter is not None:
        yield f"controller {node} is a voter"
    yield from _not_ready(found, node, new)
    needed = 1 if count == 1 else majority(count + 1)
    if len(found.following) < needed:
        more = f"{majority(count + 1)} of {count + 1} have to if controller {node} fails as a voter"
        yield f"only {_following(found)}, and {more}; {_lagging(found, node)}"


def _not_ready(found: QuorumVoters, node: int, new: str) -> Iterator[str]:
    observer = found.observer(node, new)
    if node not in found.controllers:
        yield f"no controller {node} has registered with the cluster: {TO_START}"
    elif not new:
        yield f"controller {node} does not follow as an observer: {TO_START}"
    elif observer is None or not found.follows(observer):
        yield f"controller {node} with directory id {new} has not caught up as an observer"
    elif "://" not in found.controllers[node]:
        yield "the controllers have several listeners: change the voter with kafka-metadata-quorum.sh on its own host"


def _following(found: QuorumVoters) -> str:
    return f"{len(found.following)} of {several(len(found.voters), 'voter')} {_ids(found)} follow"


def _lagging(found: QuorumVoters, besides: int) -> str:
    late = [each.node for each in found.voters if each.node not in (*found.following, besides)]
    return f"not following: {ids(late)}"


def _ids(found: QuorumVoters) -> str:
    return ids(sorted(each.node for each in found.voters))
