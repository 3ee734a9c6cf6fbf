"""Refuses to carry out a plan on another cluster, or over another security protocol, than it was made for.

Another listener may have other permissions or lead to other addresses. The SASL user may differ, because a second
operator has another login.
"""

from __future__ import annotations

from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import ClusterIdentity
from kfix.heal.model.plan import Plan


def refuse_elsewhere(plan: Plan, here: ClusterIdentity, subject: str) -> None:
    """Raises RefusedError if `here` is not the plan's cluster, or is reached over another protocol or SASL mechanism.

    `subject` names the plan or the run.
    """
    refuse_other_cluster(plan, here, subject)
    before, now = plan.cluster.security, here.security
    if (now.protocol, now.mechanism) == (before.protocol, before.mechanism):
        return
    way = "without --command-config" if before.protocol == "PLAINTEXT" else "with the plan's --command-config FILE"
    raise RefusedError(
        f"{subject} was made over {before}, this connection uses {now}; nothing was changed",
        hint=f"repeat the command {way}",
    )


def refuse_other_cluster(plan: Plan, here: ClusterIdentity, subject: str) -> None:
    """Raises RefusedError if `here` is not the plan's cluster."""
    if here.name != plan.cluster.name:
        raise RefusedError(f"{subject} is for cluster {plan.cluster.name}, this is {here.name}; nothing was changed")
