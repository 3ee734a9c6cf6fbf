"""Lost records: proven by log ends that went back, bounded by what a truncated replica held, or unknown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kfix.core.events import Event, LogTruncation, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.incident.model import Certainty, LossRow, RunRow
from kfix.incident.timeline.changes.partitions import ends, lost_records
from kfix.incident.timeline.when import records_of

# Deleted topics: their partitions lose leaders and replicas on purpose, which is not a sign of the incident.

_OF_REPLICAS = frozenset({Theme.LEADER, Theme.ISR, Theme.LOSS, Theme.VIEWS})
#: A broker may log up to this many seconds after the end of a deletion.
_AFTER = 5.0


@dataclass(slots=True)
class Deletions:
    """The periods (begin, end), in seconds since the epoch, in which each topic was being deleted."""

    times: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def pair(self, before: Snapshot, after: Snapshot) -> None:
        records = records_of(before, after)
        if records is None:
            return
        there, left = ({tp.topic for tp in record.assignments} for record in records)
        for topic in there - left:
            self.add(topic, before.taken_at, after.taken_at)

    def add(self, topic: str, begin: float, end: float) -> None:
        self.times.setdefault(topic, []).append((begin, end))

    def within(self, partition: TopicPartition | None, at: float) -> bool:
        if partition is None:
            return False
        return any(begin <= at <= end + _AFTER for begin, end in self.times.get(partition.topic, ()))

    def quieted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if event.theme in _OF_REPLICAS and event.tone is Tone.BAD and self.within(event.partition, event.at):
                yield replace(event, tone=Tone.PLAIN, text=f"{event.text} (its topic was being deleted)")
            else:
                yield event


#: The number of partitions that are listed one by one; the rest is summed up.
MOST = 20


@dataclass(slots=True)
class Losses:
    """Evidence of lost records. `held` has the log end offsets by (partition, broker) as (time in seconds, offset)."""

    proven: dict[TopicPartition, int] = field(default_factory=dict)
    cuts: list[LogTruncation] = field(default_factory=list)
    unclean: set[TopicPartition] = field(default_factory=set)
    held: dict[tuple[TopicPartition, int], list[tuple[float, int]]] = field(default_factory=dict)
    logs: bool = False

    def pair(self, before: Snapshot, after: Snapshot) -> None:
        for tp, n in lost_records(before, after).items():
            self.proven[tp] = self.proven.get(tp, 0) + n

    def add_snapshot(self, snapshot: Snapshot) -> None:
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
            text = f"{n} offsets of {tp} were on a replica before and are on no replica now"
            yield LossRow(
                Certainty.PROVEN, f"{text}; whether they had been acknowledged to a producer is not in the logs", (tp,)
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
            text = f"{n} offsets of {tp}, by the log end offset in the previous snapshot, or more if it had grown since"
            yield LossRow(Certainty.AT_MOST if n else Certainty.UNKNOWN, f"a replica truncated its log: {text}", (tp,))
        left = tuple(sorted(unbounded - bounded.keys()))
        if left:
            text = "replicas truncated their logs to follow another leader; no snapshot has their log end offsets"
            more = "; with acks=all only unacknowledged records are lost this way, unless the election was unclean"
            yield LossRow(Certainty.UNKNOWN, text + more, left)

    def _unclean(self, runs: tuple[RunRow, ...]) -> Iterator[LossRow]:
        if self.unclean:
            text = (
                "an unclean election was triggered: records that only the lost replicas held are gone, "
                "acknowledged or not"
            )
            yield LossRow(Certainty.UNKNOWN, text, tuple(sorted(self.unclean)))
        for run in runs:
            for stake, bounded in run.stakes:
                certainty = Certainty.AT_MOST if bounded else Certainty.UNKNOWN
                yield LossRow(certainty, f"{stake} (accepted in the plan of run {run.id})")
            if "unclean" in run.runbook and run.changed and not run.stakes:
                text = f"run {run.id} elected a leader uncleanly; its plan, which states the loss, was not found"
                yield LossRow(Certainty.UNKNOWN, text)

    def _nothing(self) -> LossRow:
        shown_by = "no snapshot and no log shows" if self.logs else "no snapshot shows"
        not_given = "" if self.logs else " (broker logs were not given)"
        text = f"{shown_by} that records were lost{not_given}; producers with acks=0 or acks=1 may still have lost some"
        return LossRow(Certainty.NONE_SEEN, text)
