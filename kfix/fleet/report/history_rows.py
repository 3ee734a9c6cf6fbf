"""The history of many audits as JSON, `kfix.history/v1`, and its episodes as CSV.

Fields are added, never renamed or removed within v1; times are ISO 8601 in UTC, durations seconds, rates by day.

schema          "kfix.history/v1"
first, last     days of the first and the last audit (YYYY-MM-DD); now: when the run of the last audit began
audits          the number of audits that were read
clusters        the number of clusters that they include
episodes        open ones first, then those of unknown state, then ended ones, the latest first; each:
    cluster, key, code, owner, version, severity, rank (the highest so far), prevention, muted
    began           the start of the first run whose audit found it
    not_before      the last run before that whose audit read the whole cluster, null if there is none
    last_seen       the last run whose audit found it
    ended           the run whose audit no longer found it, null if it has not ended
    state           open, ended, unknown (the cluster, or a source of it, was not read, or is no longer audited)
    seconds         ended - began, null if it has not ended; shortest and longest: what the distance of the runs allows
    audits, unread  audits that found it; audits since it began in which it was unknown
    partitions, peak_partitions
    reopened        earlier episodes of the same finding in this history
repair_times    by (all, code, owner), name, ended, open; median, mean; low and high: the medians of the shortest and
                the longest possible durations, null if unknown
flapping        kind (partition, broker, group), cluster, name, changes, audits, per_day, what, last
offenders       by (topic, broker, rack, owner, version), cluster ("" for owners and versions), name, audits, times
churn           cluster, owner, days, partitions; by day: `leader`, `isr`, `restarts`, `controller`
growth          cluster, owner, measure, value, per_day with its 90 % interval low and high, points, days;
                limit (null if there is none), reached, expected, earliest, latest (null: not within two years)
score           day, run, clusters, before, now, change: the mean score over the clusters that both audits read, or null
unread          clusters whose state the last audit does not know
left            clusters of earlier audits that the last one does not include
incomplete      what could not be read for this history, one line each
unknown         names of the fields above that could not be read: they are null, and nothing is known of them
unread_last     day of the newest audit if it could not be read, else null: `last` is then that of an earlier audit
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any, Final

from kfix.core.harmless import for_json
from kfix.fleet.model.history import AuditHistory, Episode, GrowthForecast, RepairTime
from kfix.fleet.report.rows import rows_csv

SCHEMA: Final = "kfix.history/v1"


def history_json(history: AuditHistory, *, indent: int | None = 2) -> str:
    return for_json(history_dict(history), indent=indent)


def history_dict(history: AuditHistory) -> Mapping[str, Any]:
    score = history.score
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "first": _plain(history.first),
        "last": _plain(history.last),
        "now": _plain(history.now),
        "audits": history.audits,
        "clusters": history.clusters,
        "episodes": [_episode(e) for e in history.episodes],
        "repair_times": [_repair_time(r) for r in history.repair_times],
        "flapping": [_fields(f) for f in history.flapping],
        "offenders": [_fields(o) for o in history.offenders],
        "churn": [_fields(c) for c in history.churn],
        "growth": [_growth(g) for g in history.growth],
        "score": None if score is None else {**_fields(score), "change": score.change},
        "unread": list(history.unread),
        "left": list(history.left),
        "incomplete": list(history.incomplete),
        "unknown": list(history.unknown),
        "unread_last": _plain(history.unread_last),
    }
    return found | dict.fromkeys(history.unknown)


def history_csv(history: AuditHistory) -> str:
    """Returns the episodes, a row each, with a header (RFC 4180)."""
    rows = [_episode(each) for each in history.episodes]
    names = [*(f.name for f in fields(Episode)), "seconds", "shortest", "longest"]
    return rows_csv(names, [[row[name] for name in names] for row in rows])


def _episode(episode: Episode) -> Mapping[str, Any]:
    return {
        **_fields(episode),
        "seconds": episode.seconds if episode.ended else None,
        "shortest": episode.shortest,
        "longest": episode.longest,
    }


def _repair_time(found: RepairTime) -> Mapping[str, Any]:
    known = {name: getattr(found, name) if found.ended else None for name in ("median", "mean", "low", "high")}
    return {**_fields(found), **known}


def _growth(found: GrowthForecast) -> Mapping[str, Any]:
    return {**_fields(found), "limit": found.limit or None}


def _fields(row: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in asdict(row).items()}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value
