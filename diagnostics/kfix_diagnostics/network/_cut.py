"""Sentences about a cut network: which brokers are cut off, since when, the evidence, and the cost."""

from collections.abc import Iterable, Iterator, Mapping

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.cuts import Cut, CutKind
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import (
    EVIDENCE_FOR,
    RULED_OUT,
    Blocked,
    Cause,
    Confidence,
    Evidence,
    FactValue,
    Finding,
    Remedy,
    Severity,
)
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, are, brokers_named, has, per_topic, several, some, topics
from kfix_diagnostics._bans import NO_CHANGES, restart
from kfix_diagnostics._evidence import live_row, log_end_row, state_row, view_rows

#: The first remedy of every cut; plans are refused with the same words (kfix/heal/safety/refusals.py).
DO_NOTHING = "Repair the network and change nothing in Kafka, which recovers by itself within seconds"
NEVER = (
    "Do not trigger elections, reassignments or restarts while it lasts: each deepens the split or loses data",
    "Do not set unclean.leader.election.enable, and do not lower min.insync.replicas",
)
ACKS_ALL = "Have producers use acks=all: records acknowledged to such producers survive every cut of this kind"


def cut_finding(
    case: CaseFile,
    cut: Cut,
    *,
    summary: str,
    where: str,
    confidence: Confidence,
    signs: Iterable[str],
    ruled_out: Mapping[str, str],
    blocked: str,
    partitions: Iterable[TopicPartition],
    facts: Mapping[str, FactValue],
    cause: str = "",
    never: tuple[str, ...] = (),
    foretells_loss: bool = True,
    unaffected: str = "",
) -> Finding:
    """Returns the finding: critical where a partition has two leaders that clients use, or takes no acks=all.

    `where` completes "the network ... is cut" and "the fault is ...". `ruled_out` gives a reason for each similar
    incident that it is not.
    """
    return Finding(
        severity=Severity.CRITICAL if (foretells_loss and cut.pairs) or cut.stuck else Severity.WARNING,
        obj=cut.obj,
        about=cut.about,
        summary=f"{summary} ({since(case, cut)})",
        cause=Cause(f"the network {cause or where} is cut", confidence),
        evidence=(
            *(loss_rows(cut) if foretells_loss else ()),
            *for_and_against(signs, ruled_out),
            *partition_rows(case, cut),
            *vantage_rows(case),
        ),
        blocked=Blocked(blocked, unaffected=unaffected),
        remedies=remedies(cut, where),
        never=(*NEVER, *never),
        forbids=(NO_CHANGES,),
        partitions=tuple(sorted(set(partitions))),
        facts={"brokers": cut.brokers, **facts, **(losses_as_facts(cut) if foretells_loss else {})},
    )


def place_of(case: CaseFile, brokers: Iterable[int]) -> str:
    """Returns `zone az1 (broker 1)` if these are all brokers of one rack, otherwise `brokers 1, 2`.

    With a name for it, as in the inventory, that is `zone Hamburg (rack az1, broker 1)`.
    """
    ids = sorted(brokers)
    racks = {case.racks.get(b) for b in ids}
    rack = next(iter(racks)) if len(racks) == 1 else None
    if rack is None or {b for b, r in case.racks.items() if r == rack} != set(ids):
        return brokers_named(ids)
    name = case.criteria.zones.get(rack, rack)
    return f"zone {name} ({'' if name == rack else f'rack {rack}, '}{brokers_named(ids)})"


def clients_of(case: CaseFile, brokers: Iterable[int]) -> str:
    """Returns which clients are affected: `clients in az1` if these share a rack, otherwise `clients near broker 1`."""
    racks = {case.racks.get(b) or "" for b in brokers}
    rack = racks.pop() if len(racks) == 1 else ""
    return f"clients in {case.criteria.zones.get(rack, rack)}" if rack else f"clients near {brokers_named(brokers)}"


def since(case: CaseFile, cut: Cut) -> str:
    if not cut.since_ms:
        return "no record shows since when"
    age = case.taken_at - cut.since_ms / 1000
    return f"first recorded {ago(max(age, 0.0))} ago; it began up to {_delay(case, cut)} earlier"


def _delay(case: CaseFile, cut: Cut) -> str:
    """Returns how late the first record of a cut may be: a session must end first, or a replica must lag."""
    key = (
        "zookeeper.session.timeout.ms"
        if cut.kind in {CutKind.ZONE, CutKind.CONTROLLER_ZONE}
        else "replica.lag.time.max.ms"
    )
    values = [n for v in case.settings(key).values() if (n := whole_number(v)) is not None]
    return f"{max(values) / 1000:.0f} s ({key})" if values else f"one {key}"


def for_and_against(signs: Iterable[str], ruled_out: Mapping[str, str]) -> Iterator[Evidence]:
    for number, sentence in enumerate(signs, 1):
        yield Evidence(EVIDENCE_FOR, f"sign {number}", sentence)
    for neighbour, why in ruled_out.items():
        yield Evidence(RULED_OUT, neighbour, why)


def partition_rows(case: CaseFile, cut: Cut) -> Iterator[Evidence]:
    """Yields the record, all views and all log ends of the partition that shows the cut best."""
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
    for vantage in case.snapshot.vantages:
        missed = ", ".join(f"{name} ({why})" for name, why in vantage.unreached.items())
        reached = ", ".join(vantage.reached) or "none"
        yield Evidence(f"from {vantage.name}", "reaches", reached + (f"; does not reach {missed}" if missed else ""))


def loss_rows(cut: Cut, shown: int = 8) -> Iterator[Evidence]:
    for loss in sorted(cut.losses, key=lambda each: -each.records)[:shown]:
        bound = "" if loss.known else "at least "
        yield Evidence(
            "forecast",
            f"{loss.tp} when the network heals",
            f"broker {loss.old} will lose {bound}{several(loss.records, 'record')}; broker {loss.new} leads",
        )


def forecast(cut: Cut) -> str:
    """Returns one sentence about the records that will be lost; "" if no partition has two leaders."""
    if not cut.pairs:
        return ""
    total = sum(loss.records for loss in cut.losses)
    exact = all(loss.known for loss in cut.losses) and len(cut.losses) == len(cut.pairs)
    if not exact and not total:
        return "how many records will be lost when the network heals is unknown"
    where = f" of {per_topic(loss.tp for loss in cut.losses if loss.records)}" if total else ""
    return f"{'' if exact else 'at least '}{several(total, 'record')}{where} will be lost when the network heals"


def losses_as_facts(cut: Cut) -> dict[str, FactValue]:
    """Returns the forecast as facts, `topic-partition=records`; exact if every partition with two leaders is known."""
    return {
        "forecast_total": sum(loss.records for loss in cut.losses),
        "forecast_exact": all(loss.known for loss in cut.losses) and len(cut.losses) == len(cut.pairs),
        "forecast": tuple(f"{loss.tp}={loss.records}" for loss in cut.losses),
    }


def remedies(cut: Cut, where: str) -> tuple[Remedy, ...]:
    first = Remedy(f"{DO_NOTHING}. The fault is {where}")
    advice: tuple[Remedy, ...] = (Remedy(ACKS_ALL),)
    if cut.kind in {CutKind.ZONE, CutKind.CONTROLLER_ZONE, CutKind.CONTROLLER_LINK}:
        # Seen on 2.7.1: a ZooKeeper server that had served read-only can lose a broker's session for good.
        outlived = (
            f"If it persists although the network is healthy: restart {brokers_named(cut.brokers)}, and no other broker"
        )
        advice = (restart(outlived, *cut.brokers), *advice)
    total = sum(loss.records for loss in cut.losses)
    if not total:
        return (first, *advice)
    old = sorted({loss.old for loss in cut.losses if loss.records})
    save = Remedy(
        f"Before the repair: save the records that only {brokers_named(old)} {has(len(old))}, if they matter "
        f"({forecast(cut)})"
    )
    return (save, first, *advice)


def gap_words(cut: Cut) -> str:
    sides = grouped(((gap.leader, gap.missing), str(gap.tp)) for gap in cut.gaps)
    sentences = [
        f"leader {leader} has removed broker {missing} from the ISR of {some(tps, 3)}"
        for (leader, missing), tps in sorted(sides.items())
    ]
    return "; ".join(sentences)


# The finding of KFX803 and KFX804: brokers cut off from ZooKeeper's quorum, with or without partitions to lead.


def isolated(case: CaseFile, cut: Cut, *, controllers: str) -> Finding:
    """Returns the finding; `controllers` states which broker names which controller, if that is part of it."""
    here = place_of(case, cut.brokers)
    clients = clients_of(case, cut.brokers)
    twice = (
        f". {per_topic(cut.pairs)} {has(topics(cut.pairs))} two leaders: {forecast(cut)}"
        if cut.pairs
        else ". It leads no partition that clients use"
    )
    nodes = tuple(_servers_without_quorum(case, cut))
    return cut_finding(
        case,
        cut,
        summary=f"{here} {are(len(cut.brokers))} cut off from ZooKeeper's quorum without noticing{controllers}{twice}",
        where=f"around {here}",
        cause=f"between {here} and the other zones",
        confidence=Confidence.CERTAIN if cut.pairs and nodes else Confidence.LIKELY,
        signs=_signs(case, cut, nodes),
        ruled_out=_neighbours(case, cut),
        blocked=_who(cut, clients),
        unaffected="all other clients",
        never=("Do not restart the brokers that are registered: they work",),
        partitions=cut.pairs,
        facts={"zone": case.racks.get(cut.brokers[0], ""), "two_leaders": len(cut.pairs)},
    )


def _servers_without_quorum(case: CaseFile, cut: Cut) -> Iterator[str]:
    """Yields the ZooKeeper servers without quorum on the same hosts as the brokers."""
    hosts = {case.address(b).rpartition(":")[0] for b in cut.brokers}
    for node in case.ensemble:
        if node.address.rpartition(":")[0] in hosts and node.without_quorum:
            yield node.address


def _signs(case: CaseFile, cut: Cut, nodes: tuple[str, ...]) -> Iterator[str]:
    yield (
        f"{place_of(case, cut.brokers)} {'responds' if len(cut.brokers) == 1 else 'respond'} to kfix, but "
        f"{are(len(cut.brokers))} not registered in ZooKeeper"
    )
    old = {b: cut.controllers[b] for b in cut.brokers if b in cut.controllers}
    yield ", ".join(f"broker {b} still names broker {c} as controller" for b, c in old.items())
    if cut.pairs:
        yield f"{several(len(cut.pairs), 'partition')} {has(len(cut.pairs))} two leaders with different leader epochs"
    for node in nodes:
        yield f"zookeeper {node} on the same host has no quorum"


def _neighbours(case: CaseFile, cut: Cut) -> dict[str, str]:
    ruled_out = {
        "dead broker": "it responds",
        "cut between two brokers": "it would still be registered",
        "restart under way": "it would be over, or the broker would not respond",
    }
    recorded = case.controller.broker if case.controller is not None else None
    if not any(b == c for b, c in cut.controllers.items() if b in cut.brokers):
        ruled_out["two controllers"] = f"all name broker {recorded} as controller, as ZooKeeper does"
    if not cut.pairs:
        ruled_out["two leaders"] = "no partition has two leaders"
    return ruled_out


def _who(cut: Cut, clients: str) -> str:
    if not cut.pairs:
        return f"{clients}, which reach no leader"
    return (
        f"{clients}: for {several(len(cut.pairs), 'partition')} they still use the old leader, where writes with "
        "acks=0 or 1 will be lost, and writes with acks=all time out, each retry being appended again. All other "
        "partitions time out"
    )
