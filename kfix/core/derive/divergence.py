"""Where the logs of a partition's replicas diverge, which would win, and what each would lose.

The rule is Kafka's own (KIP-101, KIP-279): a follower asks the leader where the follower's last epoch ends there, and
truncates to the smaller of the two ends; if the leader never had that epoch, it steps back to an older one and asks
again. Source: `LeaderEpochFileCache.endOffsetFor` and `AbstractFetcherThread.getOffsetTruncationState` of Kafka 2.7.1.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kfix.core.disk.model import Epoch, LogDir, Replica, Tail
from kfix.core.snapshot.snapshot import TopicPartition


class Divergence(StrEnum):
    """The result of a comparison.

    DIVERGENT: a replica has records that the winner lacks. BEHIND: one lacks records, and has none of its own. APART:
    folders of one name that do not belong to one log (another topic id, or the same broker twice), so they are not
    compared. ALONE: only one replica was given.
    """

    DIVERGENT = "divergent"
    BEHIND = "behind"
    APART = "apart"
    SAME = "same"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class ElectionLoss:
    """The records that `replica` would truncate if `leader` led: all from offset `kept` on. `tail` is from its disk."""

    replica: Replica
    leader: Replica
    kept: int
    tail: Tail | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One partition over all given disks.

    replicas  in service, best first: largest (last epoch, log end)
    aside     folders to be deleted, moved in, or strays: shown, not compared
    losses    for every pair in which something would be lost
    why       of APART
    """

    tp: TopicPartition
    verdict: Divergence
    replicas: tuple[Replica, ...]
    aside: tuple[Replica, ...] = ()
    losses: tuple[ElectionLoss, ...] = ()
    why: str = ""

    @property
    def winner(self) -> Replica | None:
        """Returns the replica with the best log; None if there is none or they are not of one log."""
        return self.replicas[0] if self.replicas and self.verdict is not Divergence.APART else None

    @property
    def differs(self) -> bool:
        return self.verdict in {Divergence.DIVERGENT, Divergence.BEHIND, Divergence.APART}

    def lost_if_led_by(self, leader: Replica) -> tuple[ElectionLoss, ...]:
        return tuple(loss for loss in self.losses if loss.leader is leader)


def kept_offset(follower: Replica, leader: Replica) -> int:
    """Returns the first offset whose record the follower has and the leader has not; a follower would truncate there.

    A leader starts a new epoch at its log end, so every epoch of a follower has an end there. Logs without epochs
    (record formats before 0.11) are compared by their ends alone.
    """
    if not leader.epochs or not follower.epochs:
        return min(follower.log_end, leader.log_end)
    newest = max(leader.last_epoch, follower.last_epoch) + 1
    theirs = (*leader.epochs, Epoch(newest, leader.log_end))
    end, asked = follower.log_end, follower.last_epoch
    while True:
        epoch, their_end = _end_of(theirs, asked, leader.log_end)
        own_epoch, own_end = _end_of(follower.epochs, epoch, follower.log_end)
        end = min(end, own_end)
        if own_epoch >= epoch:
            return min(end, their_end)
        asked = own_epoch


def _end_of(epochs: Sequence[Epoch], requested: int, log_end: int) -> tuple[int, int]:
    """Returns the largest epoch of this log that is not above the requested one, and its end."""
    end = log_end
    for entry in reversed(epochs):
        if entry.epoch <= requested:
            return entry.epoch, end
        end = entry.start
    return requested, end


def compare(dirs: Iterable[LogDir], chosen: Iterable[TopicPartition] | None = None) -> tuple[Comparison, ...]:
    """Returns every partition, by name, or only the chosen ones; tails are not measured yet."""
    found: defaultdict[TopicPartition, list[Replica]] = defaultdict(list)
    for each in dirs:
        for replica in each.replicas:
            found[replica.tp].append(replica)
    partitions = sorted(found if chosen is None else found.keys() & set(chosen))
    return tuple(_comparison(tp, found[tp]) for tp in partitions)


def _comparison(tp: TopicPartition, replicas: Sequence[Replica]) -> Comparison:
    serving = [r for r in replicas if not r.state]
    ranked = tuple(sorted(serving, key=lambda r: (-r.last_epoch, -r.log_end, r.broker or -1, r.folder)))
    aside = tuple(r for r in replicas if r.state)
    if why := _apart(ranked):
        return Comparison(tp, Divergence.APART, ranked, aside, why=why)
    losses = tuple(
        ElectionLoss(follower, leader, kept)
        for leader in ranked
        for follower in ranked
        if follower is not leader and (kept := kept_offset(follower, leader)) < follower.log_end
    )
    return Comparison(tp, _verdict(ranked, losses), ranked, aside, losses)


def _apart(replicas: Sequence[Replica]) -> str:
    ids = {r.topic_id for r in replicas if r.topic_id}
    if len(ids) > 1:
        ids_named = ", ".join(f"{r.topic_id or 'none'} on {r.name}" for r in replicas)
        return f"the topic was deleted and created again: topic ids {ids_named}"
    seen: dict[int, Replica] = {}
    for replica in sorted(replicas, key=lambda r: r.folder):
        if replica.broker is not None and (other := seen.setdefault(replica.broker, replica)) is not replica:
            return f"broker {replica.broker} has it twice: {other.folder} and {replica.folder}"
    return ""


def _verdict(ranked: Sequence[Replica], losses: Sequence[ElectionLoss]) -> Divergence:
    if len(ranked) < 2:
        return Divergence.ALONE
    if any(loss.leader is ranked[0] for loss in losses):
        return Divergence.DIVERGENT
    return Divergence.BEHIND if losses else Divergence.SAME


def with_tails(comparison: Comparison, tails: Mapping[tuple[str, int], Tail]) -> Comparison:
    """Returns the comparison with `tails`, keyed by the replica's folder and the first offset measured."""
    measured = tuple(replace(loss, tail=tails.get((loss.replica.folder, loss.kept))) for loss in comparison.losses)
    return replace(comparison, losses=measured)
