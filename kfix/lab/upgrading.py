"""A rolling upgrade: one process after the other is started with a newer version of Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.errors import UsageError
from kfix.lab.definition.recipes import KRAFT, recipe_of
from kfix.lab.definition.state import no_such
from kfix.lab.nodes.brokers import restart_brokers
from kfix.lab.nodes.classpath import class_path

if TYPE_CHECKING:
    from kfix.lab.nodes.handle import LabHandle


def upgrade(lab: LabHandle, role: str, number: int, kafka: str) -> None:
    """Restarts one broker or controller cleanly with this version; its disk and its settings stay as they are."""
    state = lab.state
    if number not in {each.id for each in state.members(role)}:
        raise no_such(state, role, number)
    recipe = recipe_of(kafka, state.spec.recipe.mode)
    if recipe.mode != KRAFT:
        raise UsageError(
            "the lab upgrades clusters on KRaft only",
            hint="with ZooKeeper, inter.broker.protocol.version would have to be set for each broker",
        )
    now = state.recipe_of(role, number).kafka
    if _order(kafka) < _order(now):
        raise UsageError(f"{role} {number} runs Kafka {now}: {kafka} is older", hint="a downgrade is not supported")
    if state.spec.kafka_home:
        raise UsageError("a lab with --kafka-home has one version of Kafka", hint="start it without --kafka-home")
    class_path(recipe, None, lambda _: None)
    lab.store.update(lambda known: known.with_version(role, number, kafka))
    if role == "broker":
        restart_brokers(lab, [number])
    else:
        lab.authority.restart([number])


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
