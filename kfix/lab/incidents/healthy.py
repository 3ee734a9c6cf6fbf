"""Nothing is wrong: the control that every diagnosis and every benchmark needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage


def run(stage: Stage) -> Broken:
    groups = stage.content()
    stage.wait_well()
    stage.wait_groups(groups, groups.by_partition)
    stage.say("checked: full ISR everywhere, every broker agrees with ZooKeeper, every group answers")
    return stage.broken("healthy", INCIDENT.expect, group=groups.by_partition[0], topic=groups.topic)


INCIDENT = Incident(
    name="healthy",
    title="a healthy cluster with content",
    does="Creates a topic with records and a consumer group in every partition of the offsets topic.",
    expect=("no finding of kfix is worse than advice on prevention",),
    run=run,
    needs=1,
)
