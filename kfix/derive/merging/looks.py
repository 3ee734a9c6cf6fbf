"""Which looks there are, and whether they go together: one cluster, one time, one name a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePath

from kfix.derive.vantage import as_name, vantage_of
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import Snapshot

#: Seconds between the first look and the last.
APART = 120.0

Looks = tuple[Snapshot, ...]  # the oldest first


def taken_on_trust(snapshots: Iterable[Snapshot]) -> tuple[str, ...]:
    """What `merge` takes for granted, in words: looks that tell no cluster id among those that agree on one."""
    looks = tuple(snapshots)
    known = sorted({s.cluster.id for s in looks if s.cluster.id})
    return tuple(
        f"{_file(s)}: tells no cluster id; it is taken for a look at cluster {known[0]}, as the other files are"
        for s in looks
        if known and not s.cluster.id
    )


def distinct(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """The same look given twice counts once, under the first of its files' names."""
    found: list[Snapshot] = []
    for snapshot in sorted(snapshots, key=lambda s: s.origin):
        if not any(replace(snapshot, origin=each.origin) == each for each in found):
            found.append(snapshot)
    return found


def named(looks: list[Snapshot]) -> Looks:
    """Each with a vantage, in order of time, place and file."""
    taken = {v.name for s in looks for v in s.vantages}
    named = []
    for look in sorted(looks, key=lambda s: (s.taken_at, s.origin)):
        if look.vantages:
            named.append(look)
            continue
        wanted = as_name(PurePath(look.origin).name.removesuffix(".gz").removesuffix(".json"))
        name = next(n for n in _numbered(wanted) if n not in taken)
        taken.add(name)
        named.append(replace(look, vantages=(vantage_of(look, name),)))
    return tuple(sorted(named, key=lambda s: (s.taken_at, place(s), s.origin)))


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def place(look: Snapshot) -> tuple[str, ...]:
    return tuple(v.name for v in look.vantages)


def _file(look: Snapshot) -> str:
    return look.origin or ", ".join(place(look)) or "a look"


def one_cluster(looks: Looks) -> str:
    known = {s.cluster.id: s for s in reversed(looks) if s.cluster.id}
    if len(known) > 1:
        said = ", ".join(f"{_file(s)} is of cluster {i}" for i, s in sorted(known.items(), key=lambda k: _file(k[1])))
        raise UsageError(f"{said}: only looks at one cluster can be merged", hint="diagnose each cluster by itself")
    if not known:
        raise UsageError(
            f"{', '.join(map(_file, looks))}: none tells a cluster id, so whether they are of one cluster is not known",
            hint="diagnose each file by itself",
        )
    return next(iter(known))


def close_together(looks: Looks) -> None:
    first, last = looks[0], looks[-1]
    apart = last.taken_at - first.taken_at
    if apart > APART:
        raise UsageError(
            f"{_file(first)} was taken at {_clock(first)}, {_file(last)} at {_clock(last)}, {apart:.0f} s later: "
            "what they disagree about may just have changed in between",
            hint=f"save them again within {APART:.0f} s, and see that the machines' clocks agree",
        )


def _clock(look: Snapshot) -> str:
    return datetime.fromtimestamp(look.taken_at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def by_place(looks: Looks) -> tuple[Looks, Looks]:
    """(the newest of each place, the earlier ones)."""
    newest = {place(s): s for s in looks}
    for look in looks:
        other = newest[place(look)]
        if _reached(look) != _reached(other):
            raise UsageError(
                f"{_file(look)} and {_file(other)} are both of vantage {' + '.join(place(look))!r} and reached "
                "different servers: they are two places, or something changed between them",
                hint="name each place (kfix snapshot save --vantage NAME), or leave the older file out",
            )
    now = tuple(newest.values())
    return tuple(s for s in looks if s in now), tuple(s for s in looks if s not in now)


def _reached(look: Snapshot) -> set[str]:
    return {who for v in look.vantages for who in v.reached}
