"""Which snapshots are merged, and whether they fit together: one cluster, one time, one name per vantage."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from kfix.core.derive.vantage import as_name, vantage_of
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import utc_text

#: Most seconds between the first snapshot and the last.
APART = 120.0

Snapshots = tuple[Snapshot, ...]  # the oldest first


def taken_on_trust(snapshots: Iterable[Snapshot]) -> tuple[str, ...]:
    """Returns the assumptions of `merge`, in words: snapshots without a cluster id among those that agree on one."""
    found = tuple(snapshots)
    known = sorted({s.cluster.id for s in found if s.cluster.id})
    return tuple(
        f"{_file(s)}: has no cluster id; kfix assumes cluster {known[0]}, as in the other files"
        for s in found
        if known and not s.cluster.id
    )


def distinct(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Returns the snapshots without duplicates, each under the first of its file names."""
    found: list[Snapshot] = []
    for snapshot in sorted(snapshots, key=lambda s: s.origin):
        if not any(replace(snapshot, origin=each.origin) == each for each in found):
            found.append(snapshot)
    return found


def named(snapshots: list[Snapshot]) -> Snapshots:
    """Returns the snapshots in order of time, vantage and file, each with a vantage."""
    taken = {v.name for s in snapshots for v in s.vantages}
    named = []
    for snapshot in sorted(snapshots, key=lambda s: (s.taken_at, s.origin)):
        if snapshot.vantages:
            named.append(snapshot)
            continue
        base = as_name(PurePath(snapshot.origin).name.removesuffix(".gz").removesuffix(".json"))
        name = next(n for n in _numbered(base) if n not in taken)
        taken.add(name)
        named.append(replace(snapshot, vantages=(vantage_of(snapshot, name),)))
    return tuple(sorted(named, key=lambda s: (s.taken_at, place(s), s.origin)))


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def place(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(v.name for v in snapshot.vantages)


def _file(snapshot: Snapshot) -> str:
    return snapshot.origin or ", ".join(place(snapshot)) or "a snapshot"


def one_cluster(snapshots: Snapshots) -> str:
    known = {s.cluster.id: s for s in reversed(snapshots) if s.cluster.id}
    if len(known) > 1:
        ids = ", ".join(f"{_file(s)} is of cluster {i}" for i, s in sorted(known.items(), key=lambda k: _file(k[1])))
        raise UsageError(f"{ids}: only snapshots of one cluster can be merged", hint="diagnose each cluster by itself")
    if not known:
        raise UsageError(
            f"{', '.join(map(_file, snapshots))}: none has a cluster id, so they may be of different clusters",
            hint="diagnose each file by itself",
        )
    return next(iter(known))


def close_together(snapshots: Snapshots) -> None:
    first, last = snapshots[0], snapshots[-1]
    apart = last.taken_at - first.taken_at
    if apart > APART:
        raise UsageError(
            f"{_file(first)} was taken at {utc_text(first.taken_at)}, "
            f"{_file(last)} at {utc_text(last.taken_at)}, {apart:.0f} s later: "
            "where they differ, the cluster may have changed in between",
            hint=f"save them again within {APART:.0f} s, on hosts with synchronised clocks",
        )


def by_place(snapshots: Snapshots) -> tuple[Snapshots, Snapshots]:
    """Returns (the newest of each vantage, the earlier ones)."""
    newest = {place(s): s for s in snapshots}
    for snapshot in snapshots:
        other = newest[place(snapshot)]
        if _reached(snapshot) != _reached(other):
            raise UsageError(
                f"{_file(snapshot)} and {_file(other)} are both of vantage {' + '.join(place(snapshot))!r} and reached "
                "different servers: they are from two places, or the network changed between them",
                hint="give each place a name (kfix snapshot save --vantage NAME), or leave out the older file",
            )
    now = tuple(newest.values())
    return tuple(s for s in snapshots if s in now), tuple(s for s in snapshots if s not in now)


def _reached(snapshot: Snapshot) -> set[str]:
    return {who for v in snapshot.vantages for who in v.reached}
