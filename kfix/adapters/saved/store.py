"""The last snapshots of every cluster: they contain groups and brokers that a sick cluster no longer reports."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kfix.adapters.saved.files import parse, read_text, save, write_whole
from kfix.derive.at_risk import at_risk
from kfix.derive.background import live_brokers
from kfix.derive.coordinator import partition_of_group
from kfix.derive.moves import moves_seen
from kfix.derive.record import newest_view
from kfix.derive.views import distinct, offsets_partitions
from kfix.documents.opening import read_file
from kfix.errors import UsageError
from kfix.model.cluster.at_risk import AtRisk
from kfix.model.cluster.moves import MoveSeen
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
from kfix.model.numbers import LAST_MOMENT, broker_id, is_int32
from kfix.private import private_folder

KEEP = 20
_MEMORY = "memory.json"
FORGET = 7 * 86400.0
#: Most group names that are kept, enough to show who is blocked; the rest is reported as "and others".
MOST_GROUPS = 5000


#: The times of `Memory`, as its file names them.
_TIMES = ("seen", "alive", "dead", "well", "epochs", "applied")
#: Seconds for which leader epochs of a quorum are kept, and most of them.
_KEEP_EPOCHS, _MOST_EPOCHS = 3600.0, 50


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier snapshots contain: all groups, and the last address of every broker id.

    `seen` is when each broker was last seen, in seconds since the epoch. After `FORGET` seconds it is removed. `alive`
    is when each broker and controller answered last, `dead` when each broker was last known not to be alive, or a
    controller did not answer, and `well` when each was last in every ISR that it belongs to. `epochs` is when a quorum
    was last in each leader epoch, and `applied` when the newest metadata offset that a broker had applied was found
    first. These three are of clusters on KRaft only, where nothing else dates a change. `moves` are the reassignments
    under way, and how far they were, and `at_risk` who had every record of the partitions that lacked replicas.
    """

    groups: tuple[str, ...] = ()
    brokers: Mapping[int, str] = field(default_factory=dict)
    seen: Mapping[int, float] = field(default_factory=dict)
    alive: Mapping[int, float] = field(default_factory=dict)
    dead: Mapping[int, float] = field(default_factory=dict)
    well: Mapping[int, float] = field(default_factory=dict)
    epochs: Mapping[int, float] = field(default_factory=dict)
    applied: Mapping[int, float] = field(default_factory=dict)
    moves: Mapping[TopicPartition, MoveSeen] = field(default_factory=dict)
    at_risk: Mapping[TopicPartition, AtRisk] = field(default_factory=dict)

    def at(self, now: float) -> Memory:
        fresh = {b: a for b, a in self.brokers.items() if now - self.seen.get(b, now) <= FORGET}
        seen, well = ({b: t for b, t in times.items() if b in fresh} for times in (self.seen, self.well))
        # Controllers have no address here, so their times are kept for as long by themselves.
        alive, dead = ({n: t for n, t in times.items() if now - t <= FORGET} for times in (self.alive, self.dead))
        late = sorted((t, epoch) for epoch, t in self.epochs.items() if 0 <= now - t <= _KEEP_EPOCHS)[-_MOST_EPOCHS:]
        epochs = {epoch: t for t, epoch in late}
        return replace(self, brokers=fresh, seen=seen, alive=alive, dead=dead, well=well, epochs=epochs)


class SnapshotStore:
    """Stores snapshots under `root`, the state folder of kfix; with None, nothing is stored.

    A failure is not an error, since a diagnosis must not depend on the store: `trouble` is why the last snapshot was
    not stored, "" if it was, or if there is no folder or no cluster id to store it by.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = None if root is None else root / "clusters"
        self.trouble = ""

    def keep(self, snapshot: Snapshot) -> Path | None:
        """Stores a snapshot and returns its path, or None if the cluster id is unknown or writing failed."""
        folder = self.folder(snapshot.cluster.id)
        if folder is None or not snapshot.cluster.id:
            return None
        path = folder / f"{int(snapshot.taken_at * 1000):015d}.json.gz"
        with self._forgiving(folder):
            private_folder(folder, folder.parent.parent)
            save(snapshot, path)
            self._note(snapshot, folder)
            for old in self.files(snapshot.cluster.id)[:-KEEP]:
                old.unlink(missing_ok=True)
        return None if self.trouble else path

    def note(self, snapshot: Snapshot) -> None:
        """Stores only what `recall` needs, not the snapshot itself, in a hundredth of the time of `keep`."""
        folder = self.folder(snapshot.cluster.id)
        if folder is not None and snapshot.cluster.id:
            with self._forgiving(folder):
                private_folder(folder, folder.parent.parent)
                self._note(snapshot, folder)

    @contextlib.contextmanager
    def _forgiving(self, folder: Path) -> Iterator[None]:
        self.trouble = ""
        try:
            yield
        except OSError as error:
            self.trouble = f"{folder}: {(error.strerror or 'cannot be written').lower()}"
        except UsageError as error:
            self.trouble = str(error)

    def _note(self, snapshot: Snapshot, folder: Path) -> None:
        before = self.recall(snapshot.cluster.id)
        _write(remember(snapshot, before.seen).at(snapshot.taken_at), folder / _MEMORY)

    def files(self, cluster_id: str) -> list[Path]:
        folder = self.folder(cluster_id)
        return [] if folder is None else sorted(folder.glob("*.json.gz"))

    def recall(self, cluster_id: str) -> Memory:
        """Returns the groups and brokers of earlier snapshots of this cluster.

        They come from the small file beside the snapshots, or if it is damaged from the newest readable snapshot, since
        each snapshot contains what the previous ones remembered.
        """
        folder = self.folder(cluster_id)
        with contextlib.suppress(OSError, ValueError, RecursionError, UsageError):
            if folder is not None:
                return _read(folder / _MEMORY)
        for path in reversed(self.files(cluster_id)):
            with contextlib.suppress(UsageError):
                return remember(parse(read_text(path), path))
        return Memory()

    def folder(self, cluster_id: str) -> Path | None:
        """Returns the folder of a cluster, which may not exist; None if nothing is stored."""
        return None if self._root is None else self._root / re.sub(r"[^A-Za-z0-9_-]", "_", cluster_id)


def _write(memory: Memory, path: Path) -> None:
    times_of = (memory.seen, memory.alive, memory.dead, memory.well, memory.epochs, memory.applied)
    raw = {
        "groups": memory.groups,
        "brokers": {str(b): address for b, address in memory.brokers.items()},
        **{name: {str(b): at for b, at in times.items()} for name, times in zip(_TIMES, times_of, strict=True)},
        "moves": [[*tp, *seen] for tp, seen in memory.moves.items()],
        "at_risk": [[*tp, *seen] for tp, seen in memory.at_risk.items()],
    }
    write_whole(path, json.dumps(raw).encode())


def _read(path: Path) -> Memory:
    """Returns the content of the file. Raises ValueError if `_write` did not write it.

    Parsed by hand: every diagnosis of a live cluster reads it, and importing pydantic takes 0.1 s.
    """
    raw = json.loads(read_file(path))
    if not isinstance(raw, dict):
        raise ValueError("not the memory of a cluster")  # noqa: TRY004 - a file's mistake, not a caller's
    groups, brokers, moves = raw.get("groups"), raw.get("brokers"), raw.get("moves", [])
    # Files of earlier versions have only the first of these.
    times: list[Any] = [raw.get(name, None if name == "seen" else {}) for name in _TIMES]
    if not (isinstance(groups, list) and isinstance(brokers, dict) and all(isinstance(each, dict) for each in times)):
        raise ValueError("not the memory of a cluster")
    if not all(isinstance(text, str) for text in (*groups, *brokers.values())):
        raise ValueError("a group or an address that is not text")
    if not all(type(at) in (int, float) and 0 <= at <= LAST_MOMENT for each in times for at in each.values()):
        raise ValueError("an impossible time")
    known = [{_broker(b): float(t) for b, t in each.items()} for each in times]
    fields: dict[str, Any] = dict(zip(_TIMES, known, strict=True))
    fields |= {
        "moves": dict(map(_move, _rows_of(moves))),
        "at_risk": dict(map(_risk, _rows_of(raw.get("at_risk", [])))),
    }
    return Memory(tuple(groups), {_broker(b): a for b, a in brokers.items()}, **fields)


def _rows_of(rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise ValueError("no list of partitions")  # noqa: TRY004 - a file's mistake, not a caller's
    return rows


def _risk(row: Any) -> tuple[TopicPartition, AtRisk]:
    if not (isinstance(row, list) and len(row) == 2 + len(AtRisk._fields) and isinstance(row[0], str)):
        raise ValueError("not the row of a partition at risk")
    topic, partition, at, leader, epoch, version, holders, former, former_epoch, end, visible, until = row
    if not all(type(each) in (int, float) and 0 <= each <= LAST_MOMENT for each in (at, until)):
        raise ValueError("an impossible time")
    small = (partition, leader, epoch, version, former, former_epoch)
    if not (isinstance(holders, list) and all(map(is_int32, (*small, *holders)))):
        raise ValueError("a number of a partition that is none")
    if not (type(end) is int and type(visible) is int):
        raise ValueError("a log end that is no number")
    seen = AtRisk(at, leader, epoch, version, tuple(holders), former, former_epoch, end, visible, until)
    return TopicPartition(topic, partition), seen


def _move(row: Any) -> tuple[TopicPartition, MoveSeen]:
    if not (isinstance(row, list) and len(row) == 5 and isinstance(row[0], str) and is_int32(row[1])):
        raise ValueError("not the row of a reassignment")
    topic, partition, since, last, ends = row
    if not all(type(at) in (int, float) and 0 <= at <= LAST_MOMENT for at in (since, last)):
        raise ValueError("an impossible time")
    pairs = isinstance(ends, list) and all(isinstance(each, list) and len(each) == 2 for each in ends)
    if not (pairs and all(type(number) is int for each in ends for number in each)):
        raise ValueError("a log end that is no number")
    return TopicPartition(topic, partition), MoveSeen(since, last, tuple((b, end) for b, end in ends))


def _broker(text: str) -> int:
    broker = broker_id(text)
    if broker is None:
        raise ValueError(f"{text[:20]!r} is not a broker id")
    return broker


def remember(snapshot: Snapshot, seen: Mapping[int, float] | None = None) -> Memory:
    groups = dict.fromkeys((*(g.name for g in snapshot.groups), *_still_possible(snapshot)))
    brokers = {**snapshot.remembered_brokers, **{b: str(e) for b, e in snapshot.addresses.items()}}
    last = {b: (seen or {}).get(b, snapshot.taken_at) for b in brokers} | dict.fromkeys(
        snapshot.addresses, snapshot.taken_at
    )
    live = live_brokers(snapshot)
    controllers = snapshot.quorum.controllers if snapshot.quorum is not None else ()
    answered = {*snapshot.views, *(each.node for each in controllers if each.answered and each.node >= 0)}
    alive = {**snapshot.remembered_alive, **dict.fromkeys(answered, snapshot.taken_at)}
    gone = () if live is None else brokers.keys() - live - snapshot.views.keys()
    # A controller that has answered before. One that is a broker, too, is gone where brokers report that.
    mute = {each.node for each in controllers if not each.answered and each.node in alive} - brokers.keys()
    dead = {**snapshot.remembered_dead, **dict.fromkeys((*gone, *mute), snapshot.taken_at)}
    well = {**snapshot.remembered_well, **dict.fromkeys(_in_every_isr(snapshot), snapshot.taken_at)}
    epochs = dict(snapshot.remembered_epochs)
    if snapshot.quorum is not None and snapshot.quorum.read:
        epochs[snapshot.quorum.epoch] = snapshot.taken_at
    some, moves = tuple(groups)[:MOST_GROUPS], moves_seen(snapshot)
    return Memory(some, brokers, last, alive, dead, well, epochs, _applied(snapshot), moves, at_risk(snapshot))


def _applied(snapshot: Snapshot) -> dict[int, float]:
    """Returns the newest applied metadata offset, and when it was found first; what is known where none was read."""
    known = snapshot.remembered_applied
    offset = -1 if snapshot.quorum is None else snapshot.quorum.newest_applied
    if offset < 0 or not is_int32(offset):
        return dict(known)
    return {offset: min(snapshot.taken_at, known.get(offset, snapshot.taken_at))}


def _in_every_isr(snapshot: Snapshot) -> frozenset[int]:
    """Returns the live brokers of a KRaft cluster whose replicas all are in sync."""
    view = None if snapshot.quorum is None else newest_view(snapshot.quorum, snapshot.views)
    if view is None:
        return frozenset()
    short = {b for each in view.partitions.values() if len(each.isr) < len(each.replicas) for b in each.replicas}
    if short:
        short = {b for each in view.partitions.values() for b in each.replicas if b not in each.isr}
    return frozenset(live_brokers(snapshot) or ()) - short


def _still_possible(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the remembered groups, without those that a working coordinator no longer lists,
    since they were deleted.
    """
    partitions = max(map(offsets_partitions, distinct(snapshot.views)[0]), default=0)
    if not snapshot.groups_complete or not partitions:
        return snapshot.remembered_groups
    working = {p.partition for p in snapshot.probes if p.answers}
    return tuple(g for g in snapshot.remembered_groups if partition_of_group(g, partitions) not in working)
