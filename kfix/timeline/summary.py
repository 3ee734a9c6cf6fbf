"""The headline: when it began, when it was noticed, when clients could work again, when all was whole."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Severity
from kfix.model.incident.report import CauseRow, EventRow, Moment, RunRow, Summary
from kfix.model.incident.timeline import SnapshotRow, Theme, Tone
from kfix.timeline.findings import Findings

#: Themes whose bad events are signs of the incident itself, and not words about it.
_SIGNS = frozenset(Theme) - {Theme.FINDING, Theme.RUN}


def summarise(findings: Findings, events: tuple[EventRow, ...], runs: tuple[RunRow, ...]) -> Summary:
    looks, causes = tuple(findings.looks), findings.causes()
    noticed = _noticed(looks)
    began = _began(looks, events, noticed)
    whole = _clear(findings, Severity.WARNING, "nothing that is a warning is found any more")
    grave = any(c.severity == "critical" for c in causes)
    served = _proved(runs, causes) or (
        _clear(findings, Severity.CRITICAL, "nothing critical is found any more") if grave else None
    )
    partitions = _partitions(causes, events)
    return Summary(
        verdict=_verdict(looks, causes, whole),
        began=began,
        noticed=noticed,
        served=served if grave else None,
        whole=whole,
        partitions=partitions,
        groups=tuple(sorted({g for c in causes for g in c.groups})),
        others_unknown=any(s.worst.blocked.others_unknown for s in findings.seen.values()),
        brokers=tuple(
            sorted({e.broker for e in events if _is_sign(e) and e.theme is Theme.BROKER and e.broker is not None})
        ),
    )


def _noticed(looks: tuple[SnapshotRow, ...]) -> Moment | None:
    first = next((look for look in looks if look.findings), None)
    return None if first is None else Moment(first.at, f"the first look with a finding, {first.name}")


def _is_sign(event: EventRow) -> bool:
    return event.tone is Tone.BAD and event.theme in _SIGNS


def _began(looks: tuple[SnapshotRow, ...], events: tuple[EventRow, ...], noticed: Moment | None) -> Moment | None:
    """The earliest sign after the last look that was well before it was noticed."""
    if noticed is None:
        signs = [e for e in events if _is_sign(e)]
        return _moment(min(signs, key=_earliest)) if signs else None
    well = max((look.at for look in looks if not look.findings and look.at < noticed.at), default=None)
    signs = [e for e in events if _is_sign(e) and e.at <= noticed.at and (well is None or e.at > well)]
    if signs:
        return _moment(min(signs, key=_earliest))
    return Moment(noticed.at, f"nothing earlier was seen than {noticed.why}", well)


def _earliest(event: EventRow) -> tuple[float, bool]:
    return event.at, event.not_before is not None


def _moment(sign: EventRow) -> Moment:
    where = f" ({named(sign.partitions)})" if sign.partitions else ""
    return Moment(sign.at, f"{sign.text}{where}; {sign.sources[0]}", sign.not_before)


def _proved(runs: tuple[RunRow, ...], causes: tuple[CauseRow, ...]) -> Moment | None:
    """The last run that proved it, unless a look after it shows something critical again."""
    proved = [run.ended for run in runs if run.outcome == "proved" and run.ended is not None]
    if not proved or any(c.severity == "critical" and c.last > proved[-1] for c in causes):
        return None
    name = next(run.runbook for run in runs if run.ended == proved[-1])
    return Moment(proved[-1], f"run of {name} proved that clients are served")


def _clear(findings: Findings, least: Severity, why: str) -> Moment | None:
    found = findings.clear_from(least)
    return None if found is None else Moment(found[1], why, found[0])


def _partitions(causes: Iterable[CauseRow], events: Iterable[EventRow]) -> tuple[TopicPartition, ...]:
    named_by_causes = {tp for c in causes for tp in c.partitions}
    return tuple(sorted(named_by_causes | {tp for e in events if _is_sign(e) for tp in e.partitions}))


def _verdict(looks: tuple[SnapshotRow, ...], causes: tuple[CauseRow, ...], whole: Moment | None) -> str:
    if len(looks) < 2 and not causes:
        return "nothing to compare"
    if not causes:
        return "nothing found in any look"
    return "over" if whole is not None else "not over at the last look"


def named(partitions: tuple[TopicPartition, ...], most: int = 3) -> str:
    """`orders-3`, `orders-1, orders-3 and 35 more`."""
    shown = ", ".join(map(str, partitions[:most]))
    return shown if len(partitions) <= most else f"{shown} and {len(partitions) - most} more"
