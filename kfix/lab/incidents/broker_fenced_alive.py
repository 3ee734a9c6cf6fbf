"""The heartbeats of a broker are lost and nothing else: it is fenced, although it runs and follows the metadata."""

from __future__ import annotations

import time

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import FIRST
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.quorum import quorum_of
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, assign_roles
from kfix.lab.waiting import wait_for

_HELD_SECONDS = 2.0


@Incident(
    "broker-fenced-alive",
    title="the heartbeats of a broker are lost: it is fenced, although it runs and follows the metadata",
    does="Drops the heartbeats (API key 63) between a zone and the controllers of the other zones, nothing else.",
    expect=(
        "it leads nothing and is in no ISR, although its process, its port and its metadata appear healthy",
        "clients continue with the other brokers",
    ),
    zones=True,
    not_on={ZK: NO_QUORUM},
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = assign_roles(context)
    fenced = roles.one
    roles.ledger(fenced, roles.other)
    roles.isolate(fenced, "heartbeats")
    roles.wait_unregistered(fenced)
    context.wait_state(FIRST, "another leads", lambda each: each.leader not in {-1, fenced}, SEEN_SECONDS)
    _require_it_follows(context, fenced)
    return IncidentOutcome(
        f"broker {fenced} is fenced, answers, and applies the metadata",
        partitions=[FIRST],
        details={"fenced": fenced, "zone": roles.zone(fenced), "controller": roles.active},
        hung=None,
    )


def _require_it_follows(context: IncidentContext, fenced: int) -> None:
    quorum = quorum_of(context)
    before = quorum.applied().get(fenced, -1)
    wait_for(
        f"broker {fenced} applies the metadata",
        lambda: quorum.applied().get(fenced, -1) > before >= 0,
        SEEN_SECONDS,
    )
    time.sleep(_HELD_SECONDS)
    context.require(fenced not in context.access.live_ids(), f"broker {fenced} stays fenced")
    seen = context.access.metadata(fenced)
    context.require(seen is not None and fenced not in seen.brokers, f"broker {fenced} knows that it is fenced")
