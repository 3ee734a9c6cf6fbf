"""The finding of KFX803 and KFX804: brokers cut off from ZooKeeper's quorum, with or without partitions to lead."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.cuts import Cut
from kfix.core.diagnosis.finding import Confidence, Finding
from kfix.core.wording import several
from kfix_diagnostics._words import are, has, per_topic, topics
from kfix_diagnostics.network._cut import CutWords, clients_of, cut_finding, forecast, place_of


def isolated(code: str, case: CaseFile, cut: Cut, *, controllers: str) -> Finding:
    """Returns the finding; `controllers` states which broker names which controller, if that is part of it."""
    here = place_of(case, cut.brokers)
    clients = clients_of(case, cut.brokers)
    twice = (
        f". {per_topic(cut.pairs)} {has(topics(cut.pairs))} two leaders: {forecast(cut)}"
        if cut.pairs
        else ". It leads no partition that clients use"
    )
    nodes = tuple(_servers_without_quorum(case, cut))
    words = CutWords(
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
    return cut_finding(code, case, cut, words)


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
