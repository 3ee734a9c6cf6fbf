"""A broker was started as a broker of another cluster: its disk or its settings are not those of this one."""

from __future__ import annotations

from collections.abc import Sequence

from kfix.core.errors import UsageError
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.nodes.strays import cluster_at, start_elsewhere


def _unfit(brokers: Sequence[BrokerDef]) -> str:
    return "it has zones" if any(each.zone is not None for each in brokers) else ""


def _refuse(context: IncidentContext) -> None:
    lab = context.lab
    if lab.state.spec.is_keeper_secured or lab.state.spec.is_secured:
        raise UsageError(f"lab {lab.name!r} is secured: the other cluster would be, too", hint="kfix lab up without it")
    if lab.state.spec.combined:
        raise UsageError(
            f"wrong-cluster-id stops a broker, those of lab {lab.name!r} are controllers, too",
            hint="kfix lab up without --combined",
        )


@Incident(
    "wrong-cluster-id",
    title="the address of a broker answers as another cluster",
    does="Kills a broker and starts it with an empty disk as a cluster of its own, at its old address.",
    expect=(
        "clients that bootstrap from that address find none of their topics and groups",
        "the replicas of the broker are missing in its own cluster",
    ),
    needs=3,
    suits=_unfit,
    refuse=_refuse,
)
def run(context: IncidentContext) -> IncidentOutcome:
    lab = context.lab
    # Any broker but the active controller of a ZooKeeper cluster: a failover is not part of this.
    lost = next(each for each in reversed(context.ids()) if each != context.access.controller())
    address = lab.address(lost)
    own = cluster_at(address)
    context.require(bool(own), f"broker {lost} names its cluster")
    context.kill(lost)
    context.wait_groups()
    other, controller = start_elsewhere(lab, lost, own)
    context.report(f"started broker {lost} with an empty disk as a cluster of its own, {other}")
    context.require(lost not in context.access.live_ids(), f"broker {lost} is not registered in cluster {own}")
    return IncidentOutcome(
        f"{address} answers as cluster {other}, the other brokers are of cluster {own}",
        dead=[lost],
        details={"address": address, "cluster": own, "other": other, "controller": controller},
        hung=None,
    )
