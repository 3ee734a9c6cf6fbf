"""Log directories as JSON, `kfix.logdirs/v1`: within v1, fields are added, never renamed or removed.

schema          "kfix.logdirs/v1"
cluster         id in meta.properties, "" if it is missing
exit_code       exit code of `kfix inspect log-dir`: 0, 20, 21, 22
counts          partitions by verdict: divergent, behind, apart, same, alone
directories     path, broker (null: unknown), clean (shut down cleanly), partitions
partitions      by name; each:
    topic, partition
    verdict     divergent: a replica has records that the winner lacks; behind: a replica lacks records and has no
                others; same; alone: only one replica was given; apart: not the same log, not compared
    why         reason for apart, else ""
    winner      broker with the largest (last epoch, log end), or null; winner_folder: its folder
    replicas    those in service, best first, then those with a state; each:
        broker, directory, folder
        state           "", "delete", "future" or "stray"
        topic_id        "" if unknown
        log_start, log_end
        high_watermark  from the checkpoint, a lower bound; recovery_point, cleaned: likewise; null if missing
        epochs          [epoch, start offset] from the batches, and from the checkpoint if it has no records yet
        checkpoint      likewise from leader-epoch-checkpoint, null if missing
        segments, walked, bytes
        last_ms         largest timestamp of the batches read, milliseconds, or null
    losses      for each pair of replicas with a possible loss:
        leader, replica     brokers (null: unknown), and leader_folder, replica_folder; if `leader` were elected,
                            `replica` would lose
        from                all records from this offset on
        first, end          its first offset there, and its log end
        records             number of records, null if unknown
        bytes, first_ms, last_ms
groups          groups of the replicas selected by --groups; each:
    topic, partition, broker
    complete    false: some batches could not be read, so groups may be missing
    groups      name, offsets (partitions with a committed offset), topics, last_commit_ms, members, type
                (classic, consumer, share, streams); null or empty if unknown
oddities        file, at (byte, or null), what, grade: unread, odd, note; most severe first
"""

from __future__ import annotations

from typing import Any

from kfix.core.derive.divergence import Comparison, Divergence, ElectionLoss
from kfix.core.disk.model import Replica, StoredGroups
from kfix.core.harmless import for_json
from kfix.inspect.inspection import Inspection

SCHEMA = "kfix.logdirs/v1"


def logdirs_json(found: Inspection, *, only_divergent: bool = False) -> str:
    return for_json(as_dict(found, only_divergent=only_divergent), indent=2, ascii_only=True)


def as_dict(found: Inspection, *, only_divergent: bool = False) -> dict[str, Any]:
    """Returns the document; `only_divergent` filters the partitions, not the counts."""
    shown = [c for c in found.comparisons if c.differs or not only_divergent]
    return {
        "schema": SCHEMA,
        "cluster": found.cluster,
        "exit_code": found.exit_code,
        "counts": {verdict.value: found.counts[verdict] for verdict in Divergence},
        "directories": [
            {"path": d.path, "broker": d.broker, "clean": d.clean, "partitions": len(d.replicas)} for d in found.dirs
        ],
        "partitions": [_partition(c) for c in shown],
        "groups": [_groups(g) for g in found.groups],
        "oddities": [{"file": o.file, "at": o.at, "what": o.what, "grade": o.grade.value} for o in found.oddities],
    }


def _partition(comparison: Comparison) -> dict[str, Any]:
    winner = comparison.winner
    return {
        "topic": comparison.tp.topic,
        "partition": comparison.tp.partition,
        "verdict": comparison.verdict.value,
        "why": comparison.why,
        "winner": None if winner is None else winner.broker,
        "winner_folder": None if winner is None else winner.folder,
        "replicas": [_replica(r) for r in (*comparison.replicas, *comparison.aside)],
        "losses": [_loss(loss) for loss in comparison.losses],
    }


def _replica(replica: Replica) -> dict[str, Any]:
    return {
        "broker": replica.broker,
        "directory": replica.directory,
        "folder": replica.folder,
        "state": replica.state,
        "topic_id": replica.topic_id,
        "log_start": replica.log_start,
        "log_end": replica.log_end,
        "high_watermark": replica.high_watermark,
        "recovery_point": replica.recovery_point,
        "cleaned": replica.cleaned,
        "epochs": [list(e) for e in replica.epochs],
        "checkpoint": None if replica.checkpoint is None else [list(e) for e in replica.checkpoint],
        "segments": replica.segments,
        "walked": replica.walked,
        "bytes": replica.size,
        "last_ms": replica.last_ms,
    }


def _loss(loss: ElectionLoss) -> dict[str, Any]:
    tail = loss.tail
    return {
        "leader": loss.leader.broker,
        "replica": loss.replica.broker,
        "leader_folder": loss.leader.folder,
        "replica_folder": loss.replica.folder,
        "from": loss.kept,
        "first": None if tail is None else tail.start,
        "end": loss.replica.log_end,
        "records": None if tail is None else tail.records,
        "bytes": None if tail is None else tail.size,
        "first_ms": None if tail is None else tail.first_ms,
        "last_ms": None if tail is None else tail.last_ms,
    }


def _groups(stored: StoredGroups) -> dict[str, Any]:
    return {
        "topic": stored.replica.tp.topic,
        "partition": stored.replica.tp.partition,
        "broker": stored.replica.broker,
        "complete": stored.complete,
        "groups": [
            {
                "name": g.name,
                "offsets": g.offsets,
                "topics": list(g.topics),
                "last_commit_ms": g.last_commit,
                "members": g.members,
                "type": g.type,
            }
            for g in stored.groups
        ],
    }
