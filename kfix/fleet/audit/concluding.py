"""What an audit concludes about one cluster: today's findings compared with those of its previous audit, and its score.

The functions are pure and take one cluster at a time, so the process of the audit and the tasks of Spark share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Final

from kfix.core.diagnosis.finding import Severity
from kfix.core.fleetcase import Stuck
from kfix.core.inventory.model import Mute
from kfix.core.inventory.muting import active, covers_too, first_mute
from kfix.fleet.model.audit import FindingRow, Status, points_of

#: The check that reports a source which did not answer.
UNREAD: Final = "KFX901"
#: Prefixes of the checks that report partitions in trouble: no leader, diverging views, under-replicated, stuck moves.
_TROUBLE: Final = ("KFX1", "KFX2", "KFX3", "KFX5")
#: The sources of a cluster that did not answer now, and in its previous audit.
Unread = tuple[frozenset[str], frozenset[str]]
_COUNTS: Final[Mapping[int, str]] = {2: "critical", 1: "warning", 0: "info"}


@dataclass(frozen=True, slots=True)
class Rules:
    """What is the same for all clusters of an audit: its day, all mutes of the inventory, and the clusters in a
    maintenance window. `recreated` are {cluster: topics that were deleted and created again since its previous audit}.
    """

    day: date
    mutes: tuple[Mute, ...] = ()
    at_work: frozenset[str] = frozenset()
    recreated: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def still_there(self, cluster: str, partitions: Iterable[str]) -> tuple[str, ...]:
        """Returns the partitions of a previous finding whose topics have not been deleted since."""
        gone = self.recreated.get(cluster, frozenset())
        return tuple(p for p in partitions if p.rpartition("-")[0] not in gone)


@dataclass(frozen=True, slots=True)
class HeadCounts:
    """The heads of one cluster, counted for its score card (`ClusterRow`). `points` are those off its score.

    `covered` has for each mute of the inventory the number of findings that it covers.
    """

    points: int = 0
    critical: int = 0
    warning: int = 0
    info: int = 0
    new: int = 0
    worse: int = 0
    still: int = 0
    fixed: int = 0
    muted: int = 0
    covered: tuple[int, ...] = ()

    def __add__(self, other: HeadCounts) -> HeadCounts:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "covered"}
        return HeadCounts(**sums, covered=tuple(map(sum, zip(self.covered, other.covered, strict=True))))


def concluded(
    now: Iterable[FindingRow],
    before: Iterable[FindingRow],
    rules: Rules,
    *,
    collected: bool,
    unread: Unread | None = None,
) -> tuple[tuple[FindingRow, ...], HeadCounts]:
    """Returns the findings of one cluster with their status and mutes, sorted by key, and the counts of its heads.

    `before` are the findings of its previous audit that were not fixed; `collected` says whether the cluster was read
    and judged now. `unread` is as in `compared`.
    """
    now, before = tuple(now), tuple(before)
    again = {r.key for r in now}

    def goes_on(was: FindingRow) -> bool:
        # A finding of partitions that were all created again is another one, although its key is the same.
        there = rules.still_there(was.cluster, was.partitions)
        return was.key not in again or bool(there) or not was.partitions

    before = tuple(filter(goes_on, before)) if rules.recreated else before
    found = as_news(muted(compared(now, before, rules.day, collected=collected, unread=unread), rules), rules.at_work)
    return found, head_counts(found, rules)


def compared(
    now: Iterable[FindingRow],
    before: Iterable[FindingRow],
    day: date,
    *,
    collected: bool,
    unread: Unread | None = None,
) -> tuple[FindingRow, ...]:
    """Returns the findings with status, first day and age in days, sorted by key; fixed ones included.

    A finding that is gone is not reported as fixed while a source that answered the previous audit does not answer
    now: its state is unknown. `unread` are the sources that did not answer; None: those that these findings name.
    """
    rows, old = {r.key: r for r in now}, {r.key: r for r in before}
    silent, silent_before = unread or (unread_sources(rows.values()), unread_sources(old.values()))

    def gone(was: FindingRow) -> Status:
        sure = not silent or (silent <= silent_before and was.status != Status.UNKNOWN)
        return Status.FIXED if collected and sure else Status.UNKNOWN

    def one(key: str) -> FindingRow:
        row, was = rows.get(key), old.get(key)
        if row is None:
            assert was is not None
            status, baseline = gone(was), was.baseline
        elif was is None:
            status, baseline = Status.NEW, row.n_partitions
        else:
            grew = is_worse(row.rank, row.n_partitions, was.rank, was.baseline)
            status = Status.WORSE if grew else Status.STILL
            baseline = next_baseline(row.rank, row.n_partitions, was.rank, was.baseline)
        shown = row or was
        assert shown is not None
        since = was.since if was else shown.since
        reported = was.reported if was else False
        return replace(shown, status=status, reported=reported, baseline=baseline, since=since, days=(day - since).days)

    return tuple(map(one, sorted(rows.keys() | old.keys())))


def unread_sources(rows: Iterable[FindingRow]) -> frozenset[str]:
    """Returns the sources of a cluster that did not answer."""
    over = {Status.FIXED, Status.UNKNOWN}
    return frozenset(row.object for row in rows if row.code == UNREAD and row.status not in over)


def muted(rows: Iterable[FindingRow], rules: Rules) -> tuple[FindingRow, ...]:
    """Returns the findings of one cluster with their mutes.

    That of a head covers those that it explains, too, if they are no worse; the others become heads.
    """
    found = tuple(rows)
    valid = active(rules.mutes, rules.day)
    mutes = {row.key: mute for row in found if (mute := first_mute(valid, row.cluster, row.code, row.key)) is not None}

    own = {row.key: (row.code, _own_rank(row)) for row in found if row.key in mutes and not row.head}

    def one(row: FindingRow) -> FindingRow:
        head = row.head
        mute, whole = mutes.get(row.key), mutes.get(head)
        if whole is not None and head in own:
            if not covers_too(own[head], (row.code, row.rank)):
                head = ""
            elif mute is None:
                mute = whole
        is_muted, reason = mute is not None, mute.reason if mute else ""
        if (is_muted, reason, head) == (row.muted, row.mute_reason, row.head):
            return row
        return replace(row, muted=is_muted, mute_reason=reason, head=head)

    return tuple(map(one, found))


def _own_rank(row: FindingRow) -> int:
    """Returns the severity of a head itself, as a number: its row has the worst of all that it explains."""
    document = json.loads(row.document) if row.document else {}
    return next((int(each) for each in Severity if each.word == document.get("severity")), row.rank)


def as_news(rows: Iterable[FindingRow], at_work: frozenset[str]) -> tuple[FindingRow, ...]:
    """Returns the findings; one that was never reported, because of a mute or a maintenance window, counts as new.

    `at_work` are the clusters in a maintenance window.
    """

    def one(row: FindingRow) -> FindingRow:
        if row.reported or row.muted or row.cluster in at_work or row.status == Status.FIXED:
            return row
        if row.status in {Status.STILL, Status.WORSE}:
            return replace(row, reported=True, status=Status.NEW, baseline=row.n_partitions)
        return replace(row, reported=True)

    return tuple(map(one, rows))


def head_counts(rows: Sequence[FindingRow], rules: Rules) -> HeadCounts:
    """Returns the counts of the heads among the findings of one cluster, as `concluded` returns them."""
    counts = dict.fromkeys(("critical", "warning", "info", "new", "worse", "still", "fixed", "muted"), 0)
    points = 0
    for row in rows:
        if row.head:
            continue
        points += points_of(row)
        if row.status == Status.FIXED:
            counts["fixed"] += 1
        elif row.muted:
            counts["muted"] += 1
        else:
            counts[_COUNTS[row.rank]] += 1
            counts["still" if row.status == Status.UNKNOWN else str(row.status)] += 1
    covered = (
        0 if m.expired(rules.day) else sum(m.matches(r.cluster, r.code, r.key) for r in rows) for m in rules.mutes
    )
    return HeadCounts(points, **counts, covered=tuple(covered))


def stuck(now: Iterable[FindingRow], before: Iterable[FindingRow], *, rules: Rules) -> tuple[Stuck, ...]:
    """Returns the partitions that are in trouble now and were in trouble in the previous audit, under the same code.

    A muted finding is not reported again under another code.
    """
    then: dict[str, dict[str, date]] = {}
    now = tuple(now)
    cluster = next((row.cluster for row in now), "")
    for row in before:
        if row.code.startswith(_TROUBLE) and not row.prevention:
            for partition in rules.still_there(cluster, row.partitions):
                then.setdefault(row.code, {})[partition] = row.since
    found: dict[tuple[str, date], set[str]] = {}
    for row in muted(now, rules) if then else ():
        known = {} if row.muted else then.get(row.code, {})
        for partition in known.keys() & set(row.partitions):
            found.setdefault((row.code, known[partition]), set()).add(partition)
    return tuple(Stuck(code, tuple(sorted(tps)), since) for (code, since), tps in sorted(found.items()))


def is_worse(rank: int, partitions: int, before_rank: int, baseline: int) -> bool:
    """Returns whether the severity rose, or there are more than half as many partitions again as in the baseline.

    A finding that grows a little each day would never be worse than the day before, so it is compared with what was
    last reported.
    `before_rank` is the severity in the previous audit; `baseline` the number of partitions when the finding was last
    called new or worse.
    """
    return rank > before_rank or 2 * partitions > 3 * baseline


def next_baseline(rank: int, partitions: int, before_rank: int, baseline: int) -> int:
    """Returns the baseline for the next audit: today's partitions if the finding is worse, else as before."""
    return partitions if is_worse(rank, partitions, before_rank, baseline) else baseline
