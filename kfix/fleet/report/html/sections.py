"""What the parts of the page show that need no script: clusters by risk, failures, episodes, and tiles with changes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kfix.core.wording import several
from kfix.fleet.model.audit import OPEN, AuditReport, ClusterRow, points_of
from kfix.fleet.model.history import Episode
from kfix.fleet.model.scenarios import KINDS, PAIR, ClusterScenarios, ScenarioRow
from kfix.fleet.report.totals import Totals

#: The shortest bar of an episode, in percent.
_LEAST: Final = 1.5


@dataclass(frozen=True, slots=True)
class RiskBar:
    """One cluster among those by risk: `parts` are (kind, width in percent of the widest bar)."""

    row: ClusterRow
    parts: tuple[tuple[str, float], ...]


def ranking(report: AuditReport) -> tuple[RiskBar, ...]:
    """Returns the clusters that were read and have risk, the riskiest first.

    The length is the risk, which has no upper end as the score has: the sickest clusters differ from each other.
    """
    points: dict[str, dict[str, int]] = {}
    for f in report.findings:
        if f.status in OPEN and not f.muted and not f.head:
            kind = "latent" if f.prevention and f.severity == "warning" else f.severity
            mine = points.setdefault(f.cluster, {})
            mine[kind] = mine.get(kind, 0) + points_of(f)
    rows = [row for row in report.clusters if row.risk > 0 and row.collected]
    most = max((row.risk for row in rows), default=1)
    return tuple(
        RiskBar(row, _parts(row, points.get(row.cluster, {}), most)) for row in sorted(rows, key=lambda r: -r.risk)
    )


def _parts(row: ClusterRow, points: dict[str, int], most: int) -> tuple[tuple[str, float], ...]:
    width = 100 * row.risk / most
    whole = sum(points.values())
    kinds = [kind for kind in ("critical", "warning", "latent", "info") if points.get(kind)]
    if not whole:
        return (("warning", width),)
    return tuple((kind, round(width * points[kind] / whole, 2)) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Tile:
    """A number on top. `change` is that since the previous audit, None if unknown."""

    words: str
    value: str
    kind: str = ""
    change: float | None = None
    less_is_better: bool = True

    @property
    def trend(self) -> str:
        if not self.change:
            return ""
        return "better" if (self.change < 0) == self.less_is_better else "sicker"


def tiles(report: AuditReport, sums: Totals) -> tuple[Tile, ...]:
    """Returns the tiles; if no cluster was read, the numbers are unknown, not 0."""
    before = report.trend[-2] if len(report.trend) > 1 and report.trend[-2].collected else None

    def shown(n: int) -> str:
        return str(n) if n or sums.collected else "?"

    def change(now: int, then: int) -> int | None:
        return None if before is None or not sums.collected or then < 0 else now - then

    # Over the clusters that both audits read: a sick cluster that is not read today does not raise the score.
    both = report.history.score
    score = None if both is None or sums.score < 0 else both.change
    read = f"{sums.collected} of {sums.clusters}"
    found = [
        Tile("score of 100" if sums.score >= 0 else "score", f"{sums.score:g}" if sums.score >= 0 else "?",
             change=score, less_is_better=False),
        Tile("critical", shown(sums.critical), "critical", change(sums.critical, before.critical if before else -1)),
        Tile("warning", shown(sums.warning), "warning", change(sums.warning, before.warning if before else -1)),
        Tile("new", shown(sums.new)),
        Tile("worse", shown(sums.worse)),
        Tile("fixed", shown(sums.fixed), "good"),
        Tile("clusters read", read, "unknown" if sums.unknown else ""),
        Tile("info", shown(sums.info)),
        Tile("muted", str(sums.muted)),
    ]  # fmt: skip
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Cell:
    """What the worst failure of a kind does to a cluster: `kind` is its colour, `more` the sentence behind it."""

    kind: str
    words: str
    more: str


def scenario_rows(report: AuditReport) -> tuple[tuple[ClusterScenarios, tuple[Cell, ...]], ...]:
    """Returns (cluster, cells by kind of failure), the worst clusters first; the worst cell of all is marked."""
    rows = [each for each in report.scenario_matrix if each.judged]
    rows.sort(key=lambda each: max(r.rank for r in each.worst.values()), reverse=True)
    worst = max((r for each in rows for r in each.worst.values()), key=lambda r: r.rank, default=None)
    return tuple(
        (each, tuple(_cell(found, found is worst) for kind in KINDS for found in (each.worst.get(kind),)))
        for each in rows
    )


def _cell(row: ScenarioRow | None, worst: bool) -> Cell:
    if row is None:
        return Cell("none", "none", "no such failure")
    what = f"{'brokers' if row.kind == PAIR else row.kind} {row.down}"
    if row.something_stops:
        lost = several(row.topics, "topic")
        blocked = f", {several(row.groups, 'group')} blocked" if row.groups else ""
        more = f"{what}: {several(row.stops, 'partition')} without a leader{blocked}"
        return Cell("critical worst" if worst else "critical", lost, more)
    doubt = "the snapshot does not show whether something stops"
    if row.something_degrades:
        n = row.under_min_isr or row.last_in_sync
        what_n = "under min ISR" if row.under_min_isr else "on the last in-sync replica"
        more = f"{what}: {several(n, 'partition')} {what_n}{f'; {doubt}' if row.uncertain else ''}"
        return Cell("warning", several(n, "partition") + (", or more" if row.uncertain else ""), more)
    if row.uncertain:
        return Cell("unknown", "unknown", f"{what}: {doubt}")
    return Cell("good", "nothing", f"{what}: nothing stops")


@dataclass(frozen=True, slots=True)
class EpisodeSpan:
    """An episode on the time line: `left` and `width` are in percent of its length."""

    episode: Episode
    left: float
    width: float
    words: str


def spans(report: AuditReport) -> tuple[EpisodeSpan, ...]:
    """Returns the episodes that are no latent risks, open ones first, then by severity and age."""
    past = report.history
    episodes = [e for e in past.episodes if not e.prevention and not e.muted]
    if not episodes or past.now is None:
        return ()
    first = min(e.began for e in episodes)
    length = max((past.now - first).total_seconds(), 1.0)

    def at(when: datetime) -> float:
        return 100 * (when - first).total_seconds() / length

    found = []
    for each in episodes:
        end = each.ended or past.now
        words = {"open": "open", "unknown": "state unknown"}.get(each.state, "fixed")
        left = min(at(each.began), 100 - _LEAST)
        width = min(max(at(end) - left, _LEAST), 100 - left)
        found.append(EpisodeSpan(each, round(left, 2), round(width, 2), words))
    found.sort(key=lambda s: (s.episode.state == "ended", -s.episode.rank, s.episode.began))
    return tuple(found)
