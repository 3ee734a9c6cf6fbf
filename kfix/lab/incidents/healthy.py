"""A healthy cluster: the control case of every diagnosis and every benchmark."""

from __future__ import annotations

from kfix.lab.incidents.setup.content import CONTENT_TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome


@Incident(
    "healthy",
    title="a healthy cluster with content",
    does="Creates a topic with records and a consumer group in every partition of the offsets topic.",
    expect=("kfix reports latent risks at most",),
    needs=1,
)
def run(context: IncidentContext) -> IncidentOutcome:
    context.wait_well()
    return IncidentOutcome(
        "full ISR everywhere, every broker agrees with the record, every group answers",
        topic=CONTENT_TOPIC,
    )
