"""Reads the history up to an audit from the store: episodes, what flaps, churn, growth.

A part that cannot be read because a file is damaged is left out: its reason is in `incomplete`, and its fields are in
`unknown`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Any, Final

import pyarrow as pa

from kfix.core.diagnosis.finding import Severity
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.fleet.engines.engine import Engine
from kfix.fleet.history import reading_sql
from kfix.fleet.history.figures import (
    ReplicaLimits,
    churn_of,
    flapping_of,
    growth_of,
    offenders_of,
    repair_times,
)
from kfix.fleet.model.audit import score_of_mean
from kfix.fleet.model.history import (
    AuditHistory,
    ChurnRate,
    Episode,
    Flapping,
    GrowthForecast,
    HistoryChoice,
    RepeatOffender,
    ScoreChange,
)
from kfix.fleet.store.audits import Audit, is_sound, with_files
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.history_tables import EPISODES, PARTITION_CHANGES, TRANSITIONS
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.spec import TableSpec, rows_table
from kfix.fleet.store.stored import stored_rows
from kfix.fleet.store.tables import BROKERS, CLUSTERS, RUNS, SNAPSHOTS, TOPICS

_ORDERED: Final = pa.schema([("day", pa.date32()), ("run", pa.string()), ("seq", pa.int64()), ("at_s", pa.int64())])
_CHOSEN: Final = pa.schema(
    [("cluster", pa.string()), ("last_seq", pa.int64()), ("away", pa.bool_()), ("seconds", pa.int64())]
)
#: Seconds after which a cluster that no audit includes any more counts as unknown.
_AWAY: Final = 2 * 86_400
#: Days after the first of which something may have changed on three days.
_FLAPS_WITHIN: Final = 2
#: The choice of a report.
EVERYTHING: Final = HistoryChoice()
#: A broker explains its partitions, so it comes first.
_KINDS: Final = ("broker", "group", "partition")
_STATES: Final = {"open": 0, "unknown": 1, "ended": 2}


def history_of(
    root: StoreLocation,
    audits: Sequence[Audit],
    engine: Engine,
    limits: ReplicaLimits,
    *,
    before: Audit | None = None,
    choice: HistoryChoice = EVERYTHING,
) -> AuditHistory:
    """Returns the history of these audits, oldest first. `before` is the one whose scores the last is compared with.

    Raises UsageError if the score cards cannot be read, or if a chosen cluster or owner is in none of the audits.
    """
    if not audits:
        return AuditHistory()
    return _Reader(root, audits, engine, choice).history(limits, before)


class _Reader:
    def __init__(self, root: StoreLocation, audits: Sequence[Audit], engine: Engine, choice: HistoryChoice) -> None:
        self._root, self._audits, self._engine, self._choice = root, audits, engine, choice
        self._renames = audits[-1].renames
        self._incomplete: list[str] = []
        self._unknown: list[str] = []
        self._read: dict[TableSpec, Any] = {}
        self._ordered = _in_order(audits)
        try:
            cards = self._all_cards()
        except UsageError:
            # A damaged audit must not hide the others: it is left out and named.
            reasons = {audit.key: is_sound(audit) for audit in audits}
            self._incomplete += [why for why in reasons.values() if why]
            self._audits = [a for a in audits if not reasons[a.key]] or audits
            self._ordered = _in_order(self._audits)
            self._read.clear()
            cards = self._all_cards()
        newest = audits[-1]
        self._unread_last = None if self._audits[-1].key == newest.key else newest.day
        self._cards = self._chosen_cards(cards)

    def history(self, limits: ReplicaLimits, before: Audit | None) -> AuditHistory:
        last = self._audits[-1]
        episodes = self._part("episodes", self._episodes, "episodes", "repair_times", "offenders")
        by_code = bool(self._choice.codes)
        named = set(last.clusters_named)
        found = AuditHistory(
            first=self._audits[0].day,
            last=last.day,
            now=datetime.fromtimestamp(last.began, UTC),
            audits=len(self._audits),
            clusters=len(self._cards),
            episodes=episodes,
            repair_times=repair_times(episodes),
            flapping=() if by_code else self._part("changes", self._flapping, "flapping"),
            offenders=(
                *(() if by_code else self._part("repeat offenders", self._offenders, "offenders")),
                *offenders_of(episodes),
            ),
            churn=() if by_code else self._part("churn", self._churn, "churn"),
            growth=() if by_code else self._part("growth", lambda: self._growth(limits, last.day), "growth"),
            score=None if before is None else self._score(last, before),
            unread=tuple(n for n, card in self._cards.items() if n in named and not card["read_last"]),
            left=tuple(n for n in self._cards if n not in named),
        )
        return replace(
            found,
            incomplete=tuple(dict.fromkeys(self._incomplete)),
            unknown=tuple(dict.fromkeys(self._unknown)),
            unread_last=self._unread_last,
        )

    def _part(self, what: str, read: Callable[[], tuple[Any, ...]], *fields: str) -> tuple[Any, ...]:
        """Returns a part; if it cannot be read, () and the reason, and `fields` are unknown."""
        try:
            return read()
        except UsageError as error:
            self._incomplete.append(f"{what}: {error}")
            self._unknown += fields
            return ()

    def _all_cards(self) -> list[dict[str, Any]]:
        return self._query(reading_sql.CARDS, {"clusters": self._audited(CLUSTERS)})

    def _chosen_cards(self, found: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        patterns, owners = self._choice.clusters, self._choice.owners
        _all_match("--cluster", patterns, {card["cluster"] for card in found}, fnmatchcase)
        _all_match("--owner", owners, {card["owner"] for card in found}, str.__eq__)
        return {
            card["cluster"]: card
            for card in found
            if (not patterns or any(fnmatchcase(card["cluster"], p) for p in patterns))
            and (not owners or card["owner"] in owners)
        }

    def _chosen(self) -> Any:
        cards, newest = [*self._cards.values()], int(self._audits[-1].began)
        rows = ((c["cluster"], c["last_seq"], newest - c["last_at"] > _AWAY, c["seconds"]) for c in cards)
        return rows_table(_CHOSEN, rows)

    def _query(self, sql: str, tables: Mapping[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._engine.query(sql, {**tables, "ordered": self._ordered}).to_pylist()
        return found

    def _about_chosen(self, sql: str, tables: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._query(sql, {**tables, "chosen": self._chosen()}) if self._cards else []

    def _audited(self, spec: TableSpec) -> Any:
        """Returns the rows of an audit's table, without those of an audit that was killed while it was repeated."""
        if spec in self._read:
            return self._read[spec]
        keys = {audit.key for audit in self._audits}
        there = StoreTable(self._root, spec).files(lambda day, run: (day, run) in keys)
        sound = {audit.key for audit in with_files(spec, self._audits, there)}
        if spec is EPISODES and (newest := self._audits[-1]).key not in sound:
            raise UsageError(f"those of the audit {newest.id!r} of {newest.day} are of another attempt, or missing")
        for day, run in sorted(keys - sound):
            self._incomplete.append(f"{spec.name} of the audit {run!r} of {day}: are of another attempt, or missing")
        self._read[spec] = stored_rows(self._root, spec, (f for f in there if (f.day, f.run) in sound), self._renames)
        return self._read[spec]

    def _changes(self) -> dict[str, Any]:
        """Returns the tables of changes. Those of partitions are of all runs of these days: a state that an audit of
        another attempt saw was there. What the first of them followed is in their rows.
        """
        first, last = self._audits[0].day, self._audits[-1].day
        there = StoreTable(self._root, PARTITION_CHANGES).files(lambda day, _run: first <= day <= last)
        partitions = stored_rows(self._root, PARTITION_CHANGES, there, self._renames)
        return {"transitions": self._audited(TRANSITIONS), "partition_changes": partitions}

    def _collected(self, spec: TableSpec) -> Any:
        """Returns the rows of a table of the runs; snapshots that were pruned are not there."""
        complete = {audit.key for audit in self._audits} & set(StoreTable(self._root, RUNS).runs())
        there = StoreTable(self._root, spec).files(lambda day, run: (day, run) in complete)
        return stored_rows(self._root, spec, there, self._renames)

    def _episodes(self) -> tuple[Episode, ...]:
        codes = self._choice.codes
        rows = self._about_chosen(reading_sql.EPISODES, {"episodes": self._audited(EPISODES)})
        found = [_episode(row) for row in rows if not codes or row["code"] in codes]
        now = datetime.fromtimestamp(self._audits[-1].began, UTC)

        def order(each: Episode) -> tuple[Any, ...]:
            return (_STATES[each.state], each.prevention, -each.rank, each.began, each.cluster, each.key)

        # Those that have ended come last, the latest of them first.
        still = sorted((e for e in found if e.state != "ended"), key=order)
        ended = sorted(
            (e for e in found if e.state == "ended"),
            key=lambda e: (now - (e.ended or now), -e.rank, e.cluster, e.key, e.began),
        )
        return (*still, *ended)

    def _flapping(self) -> tuple[Flapping, ...]:
        if (self._audits[-1].day - self._audits[0].day).days < _FLAPS_WITHIN:
            return ()
        rows = self._about_chosen(reading_sql.FLAPPING, self._changes())

        def order(each: Flapping) -> tuple[Any, ...]:
            return (_KINDS.index(each.kind), -each.per_day, -each.changes, each.cluster, each.name)

        return tuple(sorted(map(flapping_of, rows), key=order))

    def _offenders(self) -> tuple[RepeatOffender, ...]:
        brokers = self._about_chosen(reading_sql.BROKER_OFFENDERS, {"transitions": self._audited(TRANSITIONS)})
        topics = self._about_chosen(reading_sql.TOPIC_OFFENDERS, {"topics": self._collected(TOPICS)})
        return tuple(
            RepeatOffender(kind, row["cluster"], row["name"], row["audits"], row["times"])
            for kind, row in (*(("topic", row) for row in topics), *((row["kind"], row) for row in brokers))
        )

    def _churn(self) -> tuple[ChurnRate, ...]:
        times: dict[str, dict[str, int]] = {}
        for row in self._about_chosen(reading_sql.CHURN, self._changes()):
            times.setdefault(row["cluster"], {})[row["kind"]] = row["times"]
        found = (
            churn_of(name, card["owner"], card["seconds"], card["partitions"], times.get(name, {}))
            for name, card in self._cards.items()
            if card["seconds"] > 0
        )
        return tuple(sorted(found, key=lambda c: (-(c.leader + c.isr), -c.restarts, c.cluster)))

    def _growth(self, limits: ReplicaLimits, today: date) -> tuple[GrowthForecast, ...]:
        points: dict[str, list[Mapping[str, Any]]] = {}
        tables = {"brokers": self._collected(BROKERS), "snapshots": self._collected(SNAPSHOTS)}
        for row in self._about_chosen(reading_sql.GROWTH, tables):
            points.setdefault(row["cluster"], []).append(row)
        found = (
            each
            for name, rows in points.items()
            for each in growth_of(name, self._cards[name]["owner"], rows, limits, today)
        )
        return tuple(sorted(found, key=lambda g: (g.expected or date.max, g.cluster, g.measure)))

    def _score(self, last: Audit, before: Audit) -> ScoreChange | None:
        if self._choice != EVERYTHING:
            return None
        return score_change(self._root, last, before, self._engine)


def _in_order(audits: Sequence[Audit]) -> Any:
    """Returns the table `ordered` of the statements."""
    return rows_table(_ORDERED, ((a.day, a.id, seq, int(a.began)) for seq, a in enumerate(audits)))


def _all_match(option: str, given: Iterable[str], known: Collection[str], matches: Callable[[str, str], bool]) -> None:
    """Raises UsageError if a given value matches none of the known names."""
    for value in given:
        if not any(matches(name, value) for name in known):
            raise UsageError(
                f"{option}: no cluster of these audits matches {value!r}{did_you_mean(value, {*known} - {''})}",
                hint="--days N reads a longer history",
            )


def score_change(root: StoreLocation, now: Audit, before: Audit, engine: Engine) -> ScoreChange | None:
    """Returns how the fleet's score changed over the clusters that both audits read, None if there are none."""

    def cards(audit: Audit) -> Any:
        there = StoreTable(root, CLUSTERS).files(lambda day, run: (day, run) == audit.key)
        return stored_rows(root, CLUSTERS, there, now.renames)

    [row] = engine.query(reading_sql.SCORES_OF_BOTH, {"now": cards(now), "before": cards(before)}).to_pylist()
    n = row["clusters"]
    scores = (score_of_mean(row[of] / 12, n) for of in ("before", "now"))
    return ScoreChange(before.day, before.id, n, *scores) if n else None


def _episode(row: Mapping[str, Any]) -> Episode:
    worst = Severity(row["worst"])
    kept: Iterable[str] = (n for n in Episode.__dataclass_fields__ if n not in {"severity", "rank"})
    return Episode(severity=worst.word, rank=int(worst), **{name: row[name] for name in kept})
