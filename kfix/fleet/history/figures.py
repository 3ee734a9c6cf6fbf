"""Figures over episodes and changes: times to repair, repeat offenders by owner and version, churn, growth. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean, median
from typing import Any, Final

from kfix.core.derive.growth import limit_forecast, slope_of
from kfix.fleet.model.history import ChurnRate, Episode, Flapping, GrowthForecast, RepairTime, RepeatOffender

DAY: Final = 86_400
#: The fewest episodes of a repeat offender.
_REPEATED: Final = 2
_CHANGES: Final = ("leader", "isr", "restart", "gone", "back", "coordinator", "state")


@dataclass(frozen=True, slots=True)
class ReplicaLimits:
    """The numbers of replicas on a broker, and in a cluster on ZooKeeper, that KFX611 warns of."""

    per_broker: int
    per_cluster: int


def repair_times(episodes: Iterable[Episode]) -> tuple[RepairTime, ...]:
    """Returns the times to repair of all episodes, then by code, then by owner, those with most episodes first.

    Episodes of unknown state count neither as open nor as ended.
    """
    all_ = tuple(episodes)
    if not all_:
        return ()
    return (
        _repair_time("all", "", all_),
        *_by("code", all_, lambda e: e.code),
        *_by("owner", all_, lambda e: e.owner),
    )


def _by(by: str, episodes: Sequence[Episode], name_of: Callable[[Episode], str]) -> list[RepairTime]:
    groups: dict[str, list[Episode]] = {}
    for each in episodes:
        groups.setdefault(name_of(each), []).append(each)
    found = (_repair_time(by, name, group) for name, group in groups.items())
    return sorted(found, key=lambda r: (-r.ended, -r.open, r.name))


def _repair_time(by: str, name: str, episodes: Iterable[Episode]) -> RepairTime:
    all_ = tuple(episodes)
    ended = [e for e in all_ if e.state == "ended"]
    still = sum(e.state == "open" for e in all_)
    if not ended:
        return RepairTime(by, name, 0, -1.0, -1.0, -1.0, None, still)
    seconds = [e.seconds for e in ended]
    # A begin that is not known makes the longest duration infinite: it counts, as one above all others.
    longest = median([float("inf") if e.longest is None else e.longest for e in ended])
    return RepairTime(
        by,
        name,
        len(ended),
        median(seconds),
        fmean(seconds),
        median([e.shortest for e in ended]),
        None if longest == float("inf") else longest,
        still,
    )


def offenders_of(episodes: Iterable[Episode]) -> tuple[RepeatOffender, ...]:
    """Returns the owners and the versions with findings that began again and again, most episodes first.

    Latent risks and muted findings are left out. `audits` is the number of different audits in which they began.
    """
    groups: dict[tuple[str, str], list[Episode]] = {}
    for each in episodes:
        if not each.prevention and not each.muted:
            for by, name in (("owner", each.owner), ("version", each.version)):
                if name:
                    groups.setdefault((by, name), []).append(each)
    found = (
        RepeatOffender(by, "", name, len({e.began for e in group}), len(group))
        for (by, name), group in groups.items()
        if len({e.began for e in group}) >= _REPEATED
    )
    return tuple(sorted(found, key=lambda o: (o.by, -o.times, -o.audits, o.name)))


def flapping_of(row: Mapping[str, Any]) -> Flapping:
    """Returns what a row of `reading_sql.FLAPPING` shows."""
    what = ", ".join(f"{kind} {row[kind]}" for kind in _CHANGES if row[kind])
    return Flapping(
        row["subject"],
        row["cluster"],
        row["object"],
        row["changes"],
        row["days"],
        by_day(row["changes"], row["seconds"]),
        what,
        row["last_day"],
    )


def by_day(times: int, seconds: int) -> float:
    """Returns the rate by day; 0.0 if no time has passed."""
    return round(times * DAY / seconds, 4) if seconds > 0 else 0.0


def churn_of(cluster: str, owner: str, seconds: int, partitions: int, times: Mapping[str, int]) -> ChurnRate:
    def rate(kind: str) -> float:
        return by_day(times.get(kind, 0), seconds)

    days = round(seconds / DAY, 3)
    return ChurnRate(cluster, owner, days, partitions, rate("leader"), rate("isr"), rate("restart"), rate("controller"))


def growth_of(
    cluster: str, owner: str, rows: Sequence[Mapping[str, Any]], limits: ReplicaLimits, today: date
) -> tuple[GrowthForecast, ...]:
    """Returns the growth of a cluster from its rows of `reading_sql.GROWTH`, oldest first; () without a trend.

    A cluster on KRaft has no limit of its replicas in total.
    """
    if not rows:
        return ()
    kraft = rows[-1]["mode"] == "kraft"
    measures: tuple[tuple[str, Callable[[Mapping[str, Any]], int], int], ...] = (
        ("partitions", lambda r: int(r["partitions"]), 0),
        ("replicas", lambda r: int(r["replicas"]), 0 if kraft else limits.per_cluster),
        ("replicas of a broker", lambda r: int(r["fullest"]), limits.per_broker),
        ("skew", _skew, 0),
    )
    found = (_growth(cluster, owner, name, rows, value, limit, today) for name, value, limit in measures)
    return tuple(each for each in found if each is not None)


def _skew(row: Mapping[str, Any]) -> int:
    """Returns the replicas of the fullest broker in percent of the mean; 100 if there are none."""
    replicas = int(row["replicas"])
    return 100 * int(row["fullest"]) * int(row["brokers"]) // replicas if replicas else 100


def _growth(
    cluster: str,
    owner: str,
    measure: str,
    rows: Sequence[Mapping[str, Any]],
    value_of: Callable[[Mapping[str, Any]], int],
    limit: int,
    today: date,
) -> GrowthForecast | None:
    first, last = rows[0]["at_s"], rows[-1]["at_s"]
    value = value_of(rows[-1])
    trend = slope_of([((row["at_s"] - first) / DAY, float(value_of(row))) for row in rows])
    if trend is None and not (limit and value >= limit):
        return None
    when = limit_forecast(value, trend, limit, today) if limit else None
    return GrowthForecast(
        cluster=cluster,
        owner=owner,
        measure=measure,
        value=value,
        per_day=round(trend.slope, 4) if trend else 0.0,
        low=round(trend.low, 4) if trend else 0.0,
        high=round(trend.high, 4) if trend else 0.0,
        points=trend.points if trend else len(rows),
        days=round((last - first) / DAY, 3),
        limit=limit or None,
        reached=when is not None and when.reached,
        expected=when.expected if when else None,
        earliest=when.earliest if when else None,
        latest=when.latest if when else None,
    )
