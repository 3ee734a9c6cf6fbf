"""The steps of a migration from ZooKeeper to KRaft, forward and back, as Kafka's documentation orders them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.lab.definition.state import ON_KRAFT, PREPARED, ControllerDef, new_uuid
from kfix.lab.nodes.brokers import restart_brokers, start_brokers, wait_gone
from kfix.lab.process.host import LOOPBACK, free_ports
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient, Znodes
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle

#: The only controller of a migration, which is no broker.
CONTROLLER = 3000
_SECONDS = 60.0


def add_controller(lab: LabHandle, znodes: Znodes) -> None:
    """Starts a KRaft controller with the settings of the migration; it then waits for the brokers to register."""
    with lab.store.choosing_ports() as taken:
        [port] = free_ports(1, taken, LOOPBACK.can_bind)
        node = ControllerDef(CONTROLLER, port, new_uuid())
        lab.store.update(lambda state: replace(state, controllers=(node,), cluster_id=znodes.cluster_id()))
    lab.nodes.format_disks(lab.state, "controller", [node])
    lab.nodes.start(lab.state, "controller", node)
    wait_for("the KRaft controller has written /migration", lambda: _answers(lab) and znodes.migration(), _SECONDS)


def _answers(lab: LabHandle) -> bool:
    lab.nodes.raise_if_dead(lab.state, "controller", [CONTROLLER])
    return True


def prepare_brokers(lab: LabHandle, brokers: Iterable[int]) -> None:
    """Restarts brokers with the settings of the migration; they stay with ZooKeeper."""
    wanted = tuple(brokers)
    _note(lab, wanted, PREPARED)
    restart_brokers(lab, wanted)


def wait_taken_over(znodes: Znodes) -> None:
    """Returns when the KRaft controller has copied the record of ZooKeeper and writes both."""
    wait_for("the KRaft controller takes over", lambda: taken_over(znodes), _SECONDS)


def taken_over(znodes: Znodes) -> bool:
    return int((znodes.migration() or {}).get("kraft_metadata_offset", -1)) >= 0


def move_to_kraft(lab: LabHandle, access: LabClient, brokers: Iterable[int]) -> None:
    """Restarts brokers on KRaft and returns when all others know them again; ZooKeeper does not any more."""
    for broker in brokers:
        lab.nodes.shutdown(lab.state, [broker])
        wait_gone(lab, [broker])
        _note(lab, [broker], ON_KRAFT)
        definition = lab.state.broker(broker)
        assert definition is not None
        lab.nodes.start(lab.state, "broker", definition)
        alive = set(lab.nodes.brokers_in(lab.state, "alive"))

        def known(broker: int = broker, alive: set[int] = alive) -> bool:
            lab.nodes.raise_if_dead(lab.state, "broker", [broker])
            seen = access.metadata(broker)
            return seen is not None and seen.brokers.keys() >= alive

        wait_for(f"broker {broker} answers on KRaft", known, _SECONDS)


def take_back(lab: LabHandle, znodes: Znodes) -> None:
    """Returns the cluster to ZooKeeper, from whatever step: brokers first, then the controller, then its znodes."""
    state = lab.state
    brokers = tuple(each.id for each in state.brokers if str(each.id) in state.migrating)
    lab.nodes.shutdown(state, [b for b in brokers if lab.nodes.condition(state, "broker", b) != "dead"])
    if lab.nodes.condition(state, "controller", CONTROLLER) != "dead":
        lab.nodes.kill(state, [CONTROLLER], "controller")
    wait_gone(lab, brokers)
    znodes.drop_migration(controller=taken_over(znodes))
    lab.nodes.wipe_disk(lab.state, CONTROLLER, "controller")
    lab.store.update(_without_migration)
    start_brokers(lab, brokers)


def _note(lab: LabHandle, brokers: Iterable[int], step: str) -> None:
    lab.store.update(lambda state: replace(state, migrating=state.migrating | {str(each): step for each in brokers}))


def _without_migration(state: LabState) -> LabState:
    others = tuple(each for each in state.processes if each.role not in {"controller", "format"})
    return replace(state, controllers=(), cluster_id="", migrating={}, processes=others)
