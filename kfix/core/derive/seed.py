"""Chooses the copy of the metadata log from which a quorum without a majority is recovered, or refuses all of them.

A copy that lacks a record which a running broker has applied stops that broker within a second. Voters that elect
themselves later, with an old or an empty log, win no broker over if the new epoch is far above theirs
(docs/facts/kraft.md).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from kfix.core.derive.quorum import majority
from kfix.core.errors import RefusedError
from kfix.core.snapshot.recovery import CopyRead
from kfix.core.wording import brokers_named

#: What is added to the newest epoch that any node has seen. Without pre-vote, a controller burns one or two a second.
FENCE: Final = 100_000
_MOST: Final = (1 << 31) - 1 - 10 * FENCE


def fence_of(copies: Sequence[CopyRead]) -> int:
    """Returns the epoch of the recovered quorum. Raises RefusedError if there is no room for it."""
    fence = max(each.seen_epoch for each in copies) + FENCE
    if fence > _MOST:
        raise RefusedError(f"the epoch {fence - FENCE} is too large to be raised")
    return fence


def seed_of(
    copies: Sequence[CopyRead],
    applied: Mapping[int, int],
    node: int,
    lost: Collection[int],
    unread: Collection[int],
) -> CopyRead:
    """Returns the copy to recover from: the longest one. `applied` is {broker: offset applied, -1: no answer}.

    `node` becomes the only voter, the disks of the voters `lost` are gone for good, and `unread` are nodes whose copies
    cannot be read. Raises RefusedError if that is not enough to know that nothing else has more.
    """
    for why in _doubts(copies):
        raise RefusedError(why)
    seed = copies[0]
    whys = (
        *_of_voters(copies, applied, node, lost),
        *_unknown(copies, applied, lost, unread),
        *_behind(seed, applied),
    )
    for why in whys:
        raise RefusedError(why)
    return seed


def _doubts(copies: Sequence[CopyRead]) -> Iterator[str]:
    nodes = [each.node for each in copies]
    for each in copies:
        if each.unread:
            yield f"the copy in {each.folder} was not read whole: {each.unread}"
        if each.node < 0:
            yield f"{each.folder}: its node is unknown (meta.properties)"
        if nodes.count(each.node) > 1:
            yield f"{each.folder}: there is another copy of node {each.node}: name the one that the node used last"
        if each.own:
            yield f"{each.folder}: has diverged from the longest copy, {copies[0].folder}: neither is sure to be right"
    if not copies or not copies[0].voters:
        yield "no copy names the voters"


def _of_voters(copies: Sequence[CopyRead], brokers: Collection[int], node: int, lost: Collection[int]) -> Iterator[str]:
    voters = copies[0].voters
    if both := sorted(set(voters) & set(brokers)):
        yield f"nodes {both} are controllers and brokers at once: kfix recovers a quorum of separate controllers only"
    if node not in voters:
        yield f"node {node} is not one of the voters {list(voters)}: the brokers would not find it"
    if others := sorted(set(lost) - set(voters)):
        yield f"lost={','.join(map(str, others))}: not one of the voters {list(voters)}"
    for each in copies:
        if each.node in lost:
            yield f"the log of controller {each.node} is in {each.folder}, so it is not lost"
        if each.node in voters and each.held:
            yield f"controller {each.node} runs on {each.folder}: stop it first"
    left = [each for each in voters if each not in lost]
    if len(left) >= majority(len(voters)):
        yield f"the disks of controllers {left} are not lost, and they are a majority: start them"


def _unknown(
    copies: Sequence[CopyRead], applied: Mapping[int, int], lost: Collection[int], unread: Collection[int]
) -> Iterator[str]:
    """Nodes of which nothing was read. A broker that answers has shown how far it is."""
    voters = copies[0].voters
    known = {*(each.node for each in copies), *(broker for broker, offset in applied.items() if offset >= 0), *lost}
    if missing := sorted({*voters, *applied} - known - set(unread)):
        text = ",".join(map(str, missing))
        yield (
            f"the copies of nodes {missing} were not read, and may be longer: name their log directories in copies=, "
            f"or state that they cannot be read: -p unread={text}"
        )


def _behind(seed: CopyRead, applied: Mapping[int, int]) -> Iterator[str]:
    ahead = sorted(broker for broker, offset in applied.items() if offset >= seed.end)
    if ahead:
        most = max(applied.values())
        yield (
            f"the longest copy, {seed.folder}, ends at offset {seed.end}, and {brokers_named(ahead)} applied offset "
            f"{most}: it would stop at once. Name the log directory of broker {ahead[0]} in copies="
        )
