"""What was lost: proven by logs that ended earlier than before, at most what a cut replica held, or not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kfix.model.cluster.snapshot import Snapshot, TopicPartition
from kfix.model.incident.report import Certainty, LossRow, RunRow
from kfix.model.incident.timeline import LogTruncation
from kfix.timeline.changes.log_ends import ends, lost_records

#: Partitions of which each is told by itself; more are told as a sum.
MOST = 20


@dataclass(slots=True)
class Losses:
    """`held`: the highest log end that any look read, by partition and broker."""

    proven: dict[TopicPartition, int] = field(default_factory=dict)
    cuts: list[LogTruncation] = field(default_factory=list)
    unclean: set[TopicPartition] = field(default_factory=set)
    held: dict[tuple[TopicPartition, int], list[tuple[float, int]]] = field(default_factory=dict)
    logs: bool = False

    def pair(self, before: Snapshot, after: Snapshot) -> None:
        for tp, n in lost_records(before, after).items():
            self.proven[tp] = self.proven.get(tp, 0) + n

    def look(self, snapshot: Snapshot) -> None:
        for tp, rows in snapshot.log_ends.items():
            for broker, end in ends(rows).items():
                seen = self.held.setdefault((tp, broker), [])
                if not seen or seen[-1][1] != end:
                    seen.append((snapshot.taken_at, end))

    def rows(self, runs: tuple[RunRow, ...]) -> tuple[LossRow, ...]:
        found = [*self._proven(), *self._cuts(), *self._unclean(runs)]
        return tuple(found) or (self._nothing(),)

    def _proven(self) -> Iterator[LossRow]:
        for tp, n in sorted(self.proven.items())[:MOST]:
            text = f"{n} offsets of {tp} were on a replica before and are on none of the replicas after"
            yield LossRow(
                Certainty.PROVEN, f"{text}; whether a producer had been told of success is not in the logs", (tp,)
            )
        rest = sorted(self.proven.items())[MOST:]
        if rest:
            total = sum(n for _, n in rest)
            yield LossRow(
                Certainty.PROVEN, f"{total} offsets of {len(rest)} more partitions", tuple(tp for tp, _ in rest)
            )

    def _cuts(self) -> Iterator[LossRow]:
        bounded: dict[TopicPartition, int] = {}
        unbounded: set[TopicPartition] = set()
        for cut in self.cuts:
            if cut.partition in self.proven:
                continue
            before = [end for at, end in self.held.get((cut.partition, cut.broker), ()) if at <= cut.at]
            if before:
                lost = max(before[-1] - cut.offset, 0)
                bounded[cut.partition] = max(bounded.get(cut.partition, 0), lost)
            else:
                unbounded.add(cut.partition)
        for tp, n in sorted(bounded.items())[:MOST]:
            text = f"{n} offsets of {tp}, by the log end that the last look before had read, and more if it grew since"
            yield LossRow(Certainty.AT_MOST if n else Certainty.UNKNOWN, f"a replica cut its log: {text}", (tp,))
        left = tuple(sorted(unbounded - bounded.keys()))
        if left:
            text = "replicas cut their logs to follow another leader; no look had read how far they reached"
            more = "; with acks=all only records that were never acknowledged go so, unless the election was unclean"
            yield LossRow(Certainty.UNKNOWN, text + more, left)

    def _unclean(self, runs: tuple[RunRow, ...]) -> Iterator[LossRow]:
        if self.unclean:
            text = "an unclean election was triggered: what only the lost replicas held is gone, acknowledged or not"
            yield LossRow(Certainty.UNKNOWN, text, tuple(sorted(self.unclean)))
        for run in runs:
            for stake, bounded in run.stakes:
                certainty = Certainty.AT_MOST if bounded else Certainty.UNKNOWN
                yield LossRow(certainty, f"{stake} (accepted in the plan of run {run.id})")
            if "unclean" in run.runbook and run.changed and not run.stakes:
                text = f"run {run.id} elected a leader uncleanly; its plan, which states the loss, was not found"
                yield LossRow(Certainty.UNKNOWN, text)

    def _nothing(self) -> LossRow:
        looked = "no look and no log shows" if self.logs else "no look shows (brokers' logs were not given)"
        text = f"{looked} that records were lost; producers with acks=0 or 1 may still have lost some"
        return LossRow(Certainty.NONE_SEEN, text)
