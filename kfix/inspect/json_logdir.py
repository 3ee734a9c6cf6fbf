"""Log directories as JSON, `kfix.logdirs/v1`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kfix.core.derive.divergence import Comparison, Divergence, ElectionLoss
from kfix.core.disk.model import Epoch, Oddity, Replica, StoredGroup
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.inspect.inspection import Inspection


class LogDirJson:
    """A log directory."""

    path: str
    broker: Annotated[int | None, "id in meta.properties; null where it is missing"]
    clean: Annotated[bool, "shut down cleanly, and not started since"]
    partitions: int


class ReplicaJson:
    """The folder of one partition in a log directory."""

    broker: int | None
    directory: Annotated[str, "its log directory"]
    folder: Annotated[str, "its own path"]
    state: Annotated[str, 'by the suffix of the folder: "" in service, "delete", "future" or "stray"']
    topic_id: Annotated[str, 'of partition.metadata (2.8 and later), "" if unknown']
    log_start: Annotated[int, "of log-start-offset-checkpoint, else the base offset of the first segment"]
    log_end: Annotated[int, "the offset after the last complete batch"]
    high_watermark: Annotated[int | None, "of its checkpoint, written every 5 s: a lower bound; null: it has no entry"]
    recovery_point: Annotated[int | None, "flushed to disk up to this offset"]
    cleaned: Annotated[int | None, "compacted by the log cleaner up to this offset"]
    epochs: Annotated[tuple[Epoch, ...], "from the batches, and from the checkpoint if one has no records yet"]
    checkpoint: Annotated[tuple[Epoch, ...] | None, "from leader-epoch-checkpoint, null if missing"]
    segments: int
    walked: Annotated[int, "segments that were read batch by batch"]
    bytes: Annotated[int, "of all segments"]
    last_ms: Annotated[int | None, "largest timestamp of the batches read, milliseconds"]


class ElectionLossJson:
    """What a replica would lose if another one were elected."""

    leader: Annotated[int | None, "broker that would be elected"]
    replica: Annotated[int | None, "broker that would lose"]
    leader_folder: str
    replica_folder: str
    from_: Annotated[int, "all records from this offset on"]
    first: Annotated[int | None, "its first offset there"]
    end: Annotated[int, "its log end"]
    records: Annotated[int | None, "their number, null if unknown"]
    bytes: int | None
    first_ms: int | None
    last_ms: int | None


class ComparisonJson:
    """The replicas of a partition."""

    topic: str
    partition: int
    verdict: Annotated[Divergence, "divergent: a replica has records that the winner lacks; alone: there is only one"]
    why: Annotated[str, 'why they are apart, which is not the same log and not compared; else ""']
    winner: Annotated[int | None, "broker with the largest (last epoch, log end)"]
    winner_folder: str | None
    replicas: Annotated[tuple[ReplicaJson, ...], "those in service, best first, then those with a state"]
    losses: Annotated[tuple[ElectionLossJson, ...], "for each pair of replicas with a possible loss"]


class StoredGroupsJson:
    """The groups in a replica of __consumer_offsets."""

    topic: str
    partition: int
    broker: int | None
    complete: Annotated[bool, "false: some batches could not be read, so groups may be missing"]
    groups: tuple[StoredGroup, ...]


class LogDirsJson:
    """Log directories: kfix inspect log-dir --json"""

    schema: Literal["kfix.logdirs/v1"]
    cluster: Annotated[str, 'id in meta.properties, "" where it is missing']
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
    counts: Annotated[Mapping[str, int], "partitions by verdict"]
    directories: tuple[LogDirJson, ...]
    partitions: Annotated[tuple[ComparisonJson, ...], "by name"]
    groups: Annotated[tuple[StoredGroupsJson, ...], "of the replicas selected by --groups"]
    oddities: Annotated[tuple[Oddity, ...], "most severe first"]


def logdirs_json(found: Inspection, *, only_divergent: bool = False) -> str:
    """Returns the document; `only_divergent` filters the partitions, not the counts."""
    directories = [written(LogDirJson, d, partitions=len(d.replicas)) for d in found.dirs]
    document = written(
        LogDirsJson,
        found,
        counts={verdict.value: found.counts[verdict] for verdict in Divergence},
        directories=directories,
        partitions=[_partition(c) for c in found.comparisons if c.differs or not only_divergent],
        groups=[written(StoredGroupsJson, g, **_place(g.replica)) for g in found.groups],
    )
    return for_json(document, indent=2, ascii_only=True)


def _place(replica: Replica) -> Mapping[str, Any]:
    return {"topic": replica.tp.topic, "partition": replica.tp.partition, "broker": replica.broker}


def _partition(comparison: Comparison) -> Mapping[str, Any]:
    winner = comparison.winner
    winner_folder = None if winner is None else winner.folder
    return written(
        ComparisonJson,
        comparison,
        topic=comparison.tp.topic,
        partition=comparison.tp.partition,
        winner=None if winner is None else winner.broker,
        winner_folder=winner_folder,
        replicas=[written(ReplicaJson, r, bytes=r.size) for r in (*comparison.replicas, *comparison.aside)],
        losses=[_loss(loss) for loss in comparison.losses],
    )


def _loss(loss: ElectionLoss) -> Mapping[str, Any]:
    tail, from_ = loss.tail, loss.kept
    leader_folder, replica_folder = loss.leader.folder, loss.replica.folder
    return written(
        ElectionLossJson,
        leader=loss.leader.broker,
        replica=loss.replica.broker,
        leader_folder=leader_folder,
        replica_folder=replica_folder,
        from_=from_,
        first=tail and tail.start,
        end=loss.replica.log_end,
        records=tail and tail.records,
        bytes=tail and tail.size,
        first_ms=tail and tail.first_ms,
        last_ms=tail and tail.last_ms,
    )
