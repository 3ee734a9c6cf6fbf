"""A cut of the network in words: who is cut from whom, since when, what speaks for it and against, what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.cuts import Cut, CutKind
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Evidence, FactValue, Remedy
from kfix.model.numbers import whole_number
from kfix_diagnostics._evidence import live_row, log_end_row, state_row, view_rows
from kfix_diagnostics._words import ago, count, per_topic, some

#: What every advice about a cut begins with; plans are refused with the same words (runbook/cut_network).
DO_NOTHING = "mend the network, and do nothing to Kafka: it heals by itself within seconds"
NEVER = (
    "no election, no reassignment and no restart while it lasts: each makes the split deeper, or loses records",
    "do not set unclean.leader.election.enable, and do not lower min.insync.replicas",
)
ACKS_ALL = "let producers use acks=all: what such a producer was acknowledged survives every cut of this kind"


def place_of(case: CaseFile, brokers: Iterable[int]) -> str:
    """`zone az1 (broker 1)` where these are all brokers of one rack, else `brokers 1, 2`."""
    ids = sorted(brokers)
    racks = {case.racks.get(b) for b in ids}
    rack = next(iter(racks)) if len(racks) == 1 else None
    if rack is None or {b for b, r in case.racks.items() if r == rack} != set(ids):
        return brokers_named(ids)
    return f"zone {rack} ({brokers_named(ids)})"


def clients_of(case: CaseFile, brokers: Iterable[int]) -> str:
    """`clients in az1` where these share a rack, else `clients near broker 1`: who notices."""
    racks = {case.racks.get(b) or "" for b in brokers}
    return (
        f"clients in {racks.pop()}" if len(racks) == 1 and racks != {""} else f"clients near {brokers_named(brokers)}"
    )


def since(case: CaseFile, cut: Cut) -> str:
    if not cut.since_ms:
        return "since when no record tells"
    age = case.taken_at - cut.since_ms / 1000
    return f"first seen {ago(max(age, 0.0))} ago, begun up to {_delay(case, cut)} before"


def _delay(case: CaseFile, cut: Cut) -> str:
    """How late the first record of a cut is: a session that must end, or a replica that must lag."""
    key = (
        "zookeeper.session.timeout.ms"
        if cut.kind in {CutKind.ZONE, CutKind.CONTROLLER_ZONE}
        else "replica.lag.time.max.ms"
    )
    values = [n for v in case.settings(key).values() if (n := whole_number(v)) is not None]
    return f"{max(values) / 1000:.0f} s ({key})" if values else f"one {key}"


def for_and_against(said_for: Iterable[str], ruled_out: dict[str, str]) -> Iterator[Evidence]:
    for number, sentence in enumerate(said_for, 1):
        yield Evidence("speaks for it", f"sign {number}", sentence)
    for neighbour, why in ruled_out.items():
        yield Evidence("speaks against", neighbour, why)


def partition_rows(case: CaseFile, cut: Cut) -> Iterator[Evidence]:
    """The record, all views and all log ends of one partition that shows the cut best."""
    worst = max(cut.losses, key=lambda loss: loss.records, default=None)
    first = worst.tp if worst is not None else next(iter(cut.pairs), None)
    if first is None and cut.gaps:
        first = cut.gaps[0].tp
    if first is None:
        first = next((tps[0] for tps in cut.stale.values() if tps), None)
    if first is not None:
        yield from state_row(case, first)
        yield from view_rows(case, first)
        yield from log_end_row(case, first)
    yield from live_row(case)


def vantage_rows(case: CaseFile) -> Iterator[Evidence]:
    for vantage in case.vantages:
        missed = ", ".join(f"{name} ({why})" for name, why in vantage.unreached.items())
        reached = ", ".join(vantage.reached) or "nobody"
        yield Evidence(f"from {vantage.name}", "reaches", reached + (f"; not {missed}" if missed else ""))


def loss_rows(cut: Cut, shown: int = 8) -> Iterator[Evidence]:
    for loss in sorted(cut.losses, key=lambda each: -each.records)[:shown]:
        bound = "" if loss.known else "at least "
        yield Evidence(
            "forecast",
            f"{loss.tp} on healing",
            f"{bound}{count(loss.records, 'record')} of broker {loss.old} will be cut off; broker {loss.new} leads",
        )


def forecast(cut: Cut) -> str:
    """One sentence; "" where no partition has two leaders."""
    if not cut.pairs:
        return ""
    total = sum(loss.records for loss in cut.losses)
    exact = all(loss.known for loss in cut.losses) and len(cut.losses) == len(cut.pairs)
    if not exact and not total:
        return "how many records will be cut off on healing is not known"
    where = f" in {per_topic(loss.tp for loss in cut.losses if loss.records)}" if total else ""
    return f"{'' if exact else 'at least '}{count(total, 'record')} will be cut off on healing{where}"


def losses_as_facts(cut: Cut) -> dict[str, FactValue]:
    """`forecast` as `topic-partition=records`. Exact: every partition with two leaders is in it, and known."""
    return {
        "forecast_total": sum(loss.records for loss in cut.losses),
        "forecast_exact": all(loss.known for loss in cut.losses) and len(cut.losses) == len(cut.pairs),
        "forecast": tuple(f"{loss.tp}={loss.records}" for loss in cut.losses),
    }


def remedies(cut: Cut, where: str) -> tuple[Remedy, ...]:
    first = Remedy(f"{DO_NOTHING}; the fault is {where}")
    advice: tuple[Remedy, ...] = (Remedy(ACKS_ALL),)
    if cut.kind in {CutKind.ZONE, CutKind.CONTROLLER_ZONE, CutKind.CONTROLLER_LINK}:
        # Seen on 2.7.1: a ZooKeeper server that had served read-only can forget a broker's session for good.
        outlived = f"if it stays so although the network is well: restart {brokers_named(cut.brokers)}, only that"
        advice = (Remedy(outlived), *advice)
    total = sum(loss.records for loss in cut.losses)
    if not total:
        return (first, *advice)
    old = sorted({loss.old for loss in cut.losses if loss.records})
    save = Remedy(
        f"before you mend it: read from {brokers_named(old)} what only it has, if it matters ({forecast(cut)})"
    )
    return (save, first, *advice)


def gap_words(cut: Cut) -> str:
    sides: dict[tuple[int, int], list[str]] = {}
    for gap in cut.gaps:
        sides.setdefault((gap.leader, gap.missing), []).append(str(gap.tp))
    said = [
        f"broker {leader} has dropped {missing} from the isr of {some(tps, 3)}"
        for (leader, missing), tps in sorted(sides.items())
    ]
    return "; ".join(said)
