"""What KFX803 and KFX804 say alike: brokers cut off from ZooKeeper's quorum, with or without partitions to lead."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.cuts import Cut
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Finding, Severity
from kfix_diagnostics._words import count, per_topic
from kfix_diagnostics.network._cut import (
    NEVER,
    clients_of,
    for_and_against,
    forecast,
    loss_rows,
    losses_as_facts,
    partition_rows,
    place_of,
    remedies,
    since,
    vantage_rows,
)


def isolated(code: str, case: CaseFile, cut: Cut, *, controllers: str) -> Finding:
    """`controllers` says who calls whom controller, where that is part of the finding."""
    here = place_of(case, cut.brokers)
    clients = clients_of(case, cut.brokers)
    twice = (
        f"; two leaders for {per_topic(cut.pairs)}: {forecast(cut)}" if cut.pairs else "; it leads nothing that matters"
    )
    nodes = tuple(_servers_without_quorum(case, cut))
    return Finding(
        code=code,
        severity=Severity.CRITICAL if cut.pairs else Severity.WARNING,
        obj=cut.obj,
        summary=f"{here} is cut off from ZooKeeper's quorum and does not know it{controllers}{twice}; "
        f"{since(case, cut)}",
        cause=Cause(
            f"the network between {here} and the other zones is cut",
            Confidence.CERTAIN if cut.pairs and nodes else Confidence.LIKELY,
        ),
        evidence=(
            *loss_rows(cut),
            *for_and_against(_signs(case, cut, nodes), _neighbours(case, cut)),
            *partition_rows(case, cut),
            *vantage_rows(case),
        ),
        blocked=Blocked(_who(cut, clients)),
        remedies=remedies(cut, f"around {here}"),
        never=(*NEVER, "do not restart the brokers that are registered: they work"),
        partitions=tuple(sorted(cut.pairs)),
        facts={
            "brokers": cut.brokers,
            "zone": case.racks.get(cut.brokers[0], ""),
            "two_leaders": len(cut.pairs),
            **losses_as_facts(cut),
        },
    )


def _servers_without_quorum(case: CaseFile, cut: Cut) -> Iterator[str]:
    """Those on the same hosts as the brokers."""
    hosts = {case.address(b).rpartition(":")[0] for b in cut.brokers}
    for node in case.ensemble:
        if node.address.rpartition(":")[0] in hosts and node.without_quorum:
            yield node.address


def _signs(case: CaseFile, cut: Cut, nodes: tuple[str, ...]) -> Iterator[str]:
    yield f"{place_of(case, cut.brokers)} answers us, but is not registered in ZooKeeper"
    old = {b: cut.controllers[b] for b in cut.brokers if b in cut.controllers}
    yield ", ".join(f"broker {b} still calls broker {c} controller" for b, c in old.items())
    if cut.pairs:
        yield f"two leaders, under different epochs, for {count(len(cut.pairs), 'partition')}"
    for node in nodes:
        yield f"zookeeper {node}, on the same host, has no quorum"


def _neighbours(case: CaseFile, cut: Cut) -> dict[str, str]:
    ruled_out = {
        "a dead broker": "it answers",
        "a cut between two brokers": "it would be registered still",
        "a restart under way": "it would be over, or the broker would not answer",
    }
    recorded = case.controller.broker if case.controller is not None else None
    if not any(b == c for b, c in cut.controllers.items() if b in cut.brokers):
        ruled_out["two controllers"] = f"all call broker {recorded} controller, as ZooKeeper does"
    if not cut.pairs:
        ruled_out["two leaders"] = "no partition is led by two"
    return ruled_out


def _who(cut: Cut, clients: str) -> str:
    if not cut.pairs:
        return f"{clients}: nothing that they can reach leads; all others work"
    return (
        f"{clients}: on {count(len(cut.pairs), 'partition')} they write to the old leader, lose what acks=0 or 1 "
        "acknowledges, and time out with acks=all, each retry being appended once more; all else times out for "
        "them; clients elsewhere work"
    )
