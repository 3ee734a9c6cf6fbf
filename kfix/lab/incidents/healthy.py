"""A healthy cluster: the control case of every diagnosis and every benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    context.wait_well()
    context.wait_groups(groups, groups.by_partition)
    context.report("checked: full ISR everywhere, every broker agrees with the record, every group answers")
    return context.broken("healthy", INCIDENT.expect, group=groups.by_partition[0], topic=groups.topic)


INCIDENT = Incident(
    name="healthy",
    title="a healthy cluster with content",
    does="Creates a topic with records and a consumer group in every partition of the offsets topic.",
    expect=("kfix reports latent risks at most",),
    run=run,
    needs=1,
)
