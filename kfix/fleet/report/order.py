"""What to do first: the open findings of an audit as entries, one for each cause. All outputs show this list."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.core.harmless import shortened
from kfix.core.inventory.model import Criticality
from kfix.core.wording import several, some
from kfix.fleet.model.audit import AuditReport, ClusterRow, FindingRow, Status

_FRESH = (Status.NEW, Status.WORSE)
#: The check that a cluster was not read: clusters with one reason have one cause.
_NOT_COLLECTED = "KFX701"
_NAME = 60


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One cause: `row` explains its consequences `fresh`, which are new or worse, and is itself in these `clusters`.

    `groups` are the consumer groups that it blocks, each with its cluster, and `size` is the number of its partitions.
    `alike` is the number of other findings that the same runbook ends.
    """

    row: FindingRow
    fresh: tuple[FindingRow, ...]
    clusters: tuple[str, ...]
    groups: frozenset[tuple[str, str]]
    size: int
    alike: int = 0

    @property
    def is_news(self) -> bool:
        return self.row.status in _FRESH or bool(self.fresh)

    @property
    def urgency(self) -> int:
        """Returns 3 if clients are blocked or records are in danger, 2 for a warning, 1 for an info, 0 for a risk."""
        if self.groups or self.row.rank == 2:
            return 3
        return 0 if self.row.prevention else self.row.rank + 1

    @property
    def notes(self) -> tuple[str, ...]:
        """Returns the status, how many groups it blocks, what of it is new, and what ends with it."""
        blocked = (f"blocks {several(len(self.groups), 'group')}",) if self.groups else ()
        risk = ("latent risk",) if self.row.prevention else ()
        more = (f"{several(len(self.fresh), 'new consequence')}",) if self.fresh else ()
        alike = (f"{self.alike} more with the same runbook",) if self.alike else ()
        return (self.row.status, *blocked, *risk, *more, *alike)

    @property
    def where(self) -> str:
        """Returns the names of its clusters."""
        return some([shortened(name, _NAME) for name in self.clusters], 3)


def first_things(report: AuditReport, *, only_new: bool = False) -> tuple[ReportEntry, ...]:
    """Returns what is new, worse, or open and urgent; with `only_new` only the first two. Muted findings do not count.

    Clusters in maintenance come last. Then the order is: clients are blocked, or records are in danger; the criticality
    of the cluster; blocked groups and partitions; the risk of the cluster.
    """
    cards = {card.cluster: card for card in report.clusters}
    entries = _over_clusters(_causes(report))
    shown = (e for e in entries if e.is_news or (e.urgency > 2 and not only_new))
    return tuple(sorted(shown, key=lambda entry: _place(entry, cards)))


def _causes(report: AuditReport) -> Iterable[ReportEntry]:
    """Yields an entry for each head, and for each finding whose head is muted or gone."""
    opened = {(row.cluster, row.key): row for row in report.open}
    below: dict[tuple[str, str], list[FindingRow]] = {}
    for (cluster, key), row in opened.items():
        head = (cluster, row.head or key)
        below.setdefault(head if head in opened else (cluster, key), []).append(row)
    for (cluster, key), rows in below.items():
        row = opened[cluster, key]
        fresh = tuple(each for each in rows if each is not row and each.status in _FRESH)
        groups = frozenset((cluster, group) for each in rows for group in each.blocked_groups)
        # What is new with its cause is no news of its own.
        more = () if row.status == Status.NEW else fresh
        yield ReportEntry(row, more, (cluster,), groups, max(each.n_partitions for each in rows))


def _over_clusters(entries: Iterable[ReportEntry]) -> Iterable[ReportEntry]:
    """Yields the same with one entry for what has one cause in several clusters: no access, and latent risks; and for
    what one runbook ends in a cluster.
    """
    same: dict[tuple[object, ...], list[ReportEntry]] = {}
    for entry in entries:
        row = entry.row
        joined = row.code == _NOT_COLLECTED or (not entry.urgency and row.status == Status.NEW)
        remedy = (row.code, row.status, row.remedy, row.command) if row.runbook else (row.key,)
        key = (row.code, row.cause, row.status) if joined else (row.cluster, *remedy)
        same.setdefault(key, []).append(entry)
    for found in same.values():
        names = tuple(dict.fromkeys(e.clusters[0] for e in found))
        fresh = tuple(row for e in found for row in e.fresh)
        groups = frozenset(group for e in found for group in e.groups)
        alike = 0 if names[1:] else len(found) - 1
        yield ReportEntry(found[0].row, fresh, names, groups, sum(e.size for e in found), alike)


def _place(entry: ReportEntry, cards: Mapping[str, ClusterRow]) -> tuple[object, ...]:
    known = [cards[name] for name in entry.clusters if name in cards]
    at_work = bool(known) and all(card.maintenance for card in known)
    criticality = max((Criticality.of(card.criticality) for card in known), default=Criticality.NORMAL)
    risk = max((card.risk for card in known), default=0)
    size = (-len(entry.groups), -entry.size)
    return (at_work, -entry.urgency, -criticality, *size, -risk, entry.row.cluster, entry.row.key)
