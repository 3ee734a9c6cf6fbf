"""Clusters that got another name in the inventory. Their ids show it, and their history continues under the new name.

Each audit notes in its manifest all renames so far; rows that were stored before keep the name of their day.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True)
class Rename:
    """The cluster that was called `was` from the day after `after` (None: from the first) to `until` is `name` now."""

    was: str
    name: str
    until: date
    after: date | None = None


def noticed(
    ids: Mapping[str, str], named: Collection[str], known: Mapping[str, str], day: date
) -> list[dict[str, str]]:
    """Returns the renames of a run, as its audit notes them: a new name has the id of a known one that is gone.

    `ids` are {name: cluster id} of the run, `named` all its names, `known` the ids of all clusters that were
    read before.
    """
    gone: dict[str, list[str]] = {}
    for name, cluster_id in known.items():
        if name not in named:
            gone.setdefault(cluster_id, []).append(name)
    new: dict[str, list[str]] = {}
    for name, cluster_id in ids.items():
        if name not in known:
            new.setdefault(cluster_id, []).append(name)
    pairs = ((was, new.get(cluster_id, [])) for cluster_id, was in sorted(gone.items()))
    # Of several names with one id it is not known which one it is.
    return [
        {"was": was[0], "name": names[0], "day": day.isoformat()} for was, names in pairs if len(was) == len(names) == 1
    ]


def renames_of(notes: Sequence[Mapping[str, Any]]) -> tuple[Rename, ...]:
    """Returns the renames with today's names; `notes` are those of the newest audit, oldest first."""
    found: list[Rename] = []
    today: dict[str, str] = {}
    for note in reversed(notes):
        was, name = str(note["was"]), str(note["name"])
        name = today.get(name, name)
        before = [date.fromisoformat(each["day"]) for each in notes if each["was"] == was and each["day"] < note["day"]]
        found.append(Rename(was, name, date.fromisoformat(note["day"]), max(before, default=None)))
        today[was] = name
    return tuple(found)


def names_at(renames: Iterable[Rename], day: date) -> Mapping[str, str]:
    """Returns {name on a day: name of today} of the clusters that have another name now."""
    return {
        each.was: each.name
        for each in renames
        if each.was != each.name and day <= each.until and (each.after is None or day > each.after)
    }
