"""The steps of a migration from ZooKeeper to KRaft, forward and back, as Kafka's documentation orders them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.recipes import ZK
from kfix.lab.definition.state import ON_KRAFT, PREPARED, ControllerDef, new_uuid, no_such
from kfix.lab.nodes.brokers import restart_brokers, start_brokers, wait_gone
from kfix.lab.nodes.controllers import ControllerQuorum
from kfix.lab.process.host import LOOPBACK, free_ports
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient, Znodes
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle

#: {step of `kfix lab migrate`: what a broker is then}.
BROKER_STEPS = {"prepare": PREPARED, "move": ON_KRAFT, "back": ""}
STEPS = ("begin", *BROKER_STEPS, "finish", "withdraw")
#: The first controller of a migration; none of them is a broker.
CONTROLLER = 3000
_SECONDS = 60.0


def add_controller(lab: LabHandle, znodes: Znodes, count: int = 1) -> None:
    """Starts KRaft controllers with the settings of the migration; they then wait for the brokers to register."""
    with lab.store.choosing_ports() as taken:
        ports = free_ports(count, taken, LOOPBACK.can_bind)
        nodes = tuple(ControllerDef(CONTROLLER + each, port, new_uuid()) for each, port in enumerate(ports))
        lab.store.update(lambda state: replace(state, controllers=nodes, cluster_id=znodes.cluster_id()))
    lab.nodes.format_disks(lab.state, "controller", nodes)
    for node in nodes:
        lab.nodes.start(lab.state, "controller", node)
    wait_for("a KRaft controller has written /migration", lambda: _run(lab) and znodes.migration(), _SECONDS)


def _run(lab: LabHandle) -> bool:
    lab.nodes.raise_if_dead(lab.state, "controller", [each.id for each in lab.state.controllers])
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
    """Restarts brokers on KRaft, one after the other; ZooKeeper does not know them any more."""
    for broker in brokers:
        restart_as(lab, access, broker, ON_KRAFT)


def restart_as(lab: LabHandle, access: LabClient, broker: int, step: str) -> None:
    """Restarts a broker with the settings of a step, "" for ZooKeeper alone; returns when it knows all that are alive.

    A broker on KRaft can be restarted with ZooKeeper again as long as the controllers have the settings of a migration.
    """
    definition = lab.state.broker(broker)
    if definition is None or definition.retired:
        raise no_such(lab.state, "broker", broker)
    if lab.nodes.condition(lab.state, "broker", broker) != "dead":
        # Once the controllers are withdrawn, a broker that stops waits for them: docs/facts/zookeeper.md.
        (lab.nodes.shutdown if step else lab.nodes.kill)(lab.state, [broker])
    wait_gone(lab, [broker])
    _note(lab, [broker], step)
    lab.nodes.start(lab.state, "broker", definition)
    alive = set(lab.nodes.brokers_in(lab.state, "alive"))

    def known() -> bool:
        lab.nodes.raise_if_dead(lab.state, "broker", [broker])
        seen = access.metadata(broker)
        return seen is not None and seen.brokers.keys() >= alive

    wait_for(f"broker {broker} answers and knows brokers {sorted(alive)}", known, _SECONDS)


def end_migration(lab: LabHandle, controller: int) -> None:
    """Restarts a controller without ZooKeeper, and returns when it answers; of the last one there is no way back."""
    definition = lab.state.controller(controller)
    if definition is None:
        raise no_such(lab.state, "controller", controller)
    if lab.nodes.condition(lab.state, "controller", controller) != "dead":
        lab.nodes.shutdown(lab.state, [controller], "controller")
    _note(lab, [controller], ON_KRAFT)
    lab.nodes.start(lab.state, "controller", definition)
    quorum, address = ControllerQuorum(lab.store, lab.nodes), lab.state.address_of(definition)

    def follows() -> bool:
        lab.nodes.raise_if_dead(lab.state, "controller", [controller])
        active = quorum.active()
        return active is not None and active.log_ends.get(controller, -1) >= 0

    wait_for(f"controller {controller} at {address} follows the active one", follows, _SECONDS)


def take_back(lab: LabHandle, znodes: Znodes) -> None:
    """Returns the cluster to ZooKeeper, from whatever step, in the short way: it stops all brokers that have moved on.

    Raises LabError if a controller was restarted without the migration: then ZooKeeper's record is old.
    """
    state = lab.state
    brokers = tuple(each.id for each in state.brokers if str(each.id) in state.migrating)
    _not_ended(state)
    lab.nodes.shutdown(state, [b for b in brokers if lab.nodes.condition(state, "broker", b) != "dead"])
    withdraw(lab, znodes)
    lab.store.update(_without_migration)
    start_brokers(lab, brokers)


def withdraw(lab: LabHandle, znodes: Znodes) -> None:
    """Stops the controllers, and then deletes their znodes: one of the brokers with ZooKeeper becomes the controller.

    Raises LabError if a broker runs on KRaft, or if the migration has ended.
    """
    state, role = lab.state, "controller"
    _not_ended(state)
    moved = [b for b in lab.nodes.brokers_in(state, "alive") if state.migrating.get(str(b)) == ON_KRAFT]
    if moved:
        raise LabError(f"broker {moved[0]} runs on KRaft", hint=f"kfix lab migrate prepare {moved[0]}")
    controllers = [each.id for each in state.controllers]
    lab.nodes.kill(state, [c for c in controllers if lab.nodes.condition(state, role, c) != "dead"], role)
    wait_gone(lab, lab.nodes.brokers_in(state, "dead"))
    znodes.drop_migration(controller=taken_over(znodes))
    for controller in controllers:
        lab.nodes.wipe_disk(state, controller, role)
    lab.store.update(lambda known: replace(_without_migration(known), migrating=known.migrating))


def _led_by_a_broker(lab: LabHandle, access: LabClient) -> bool:
    """Whether every broker knows the new controller; before, none can hand its leaders over, and none stops."""
    alive = lab.nodes.brokers_in(lab.state, "alive")
    seen = [access.metadata(broker) for broker in alive]
    return all(each is not None and each.controller in alive for each in seen)


def _not_ended(state: LabState) -> None:
    if ended := [each.id for each in state.controllers if str(each.id) in state.migrating]:
        raise LabError(f"controller {ended[0]} has ended the migration: there is no way back", hint="kfix lab down")


def migrate(lab: LabHandle, step: str, node: tuple[str, int] | None, controllers: int) -> None:
    """Carries one step of a migration out: `node` is what is restarted, None to begin it or to withdraw it.

    Raises UsageError for a lab that cannot migrate, and for a node that the step does not concern.
    """
    state = lab.state
    role = "broker" if step in {"prepare", "move", "back"} else "controller"
    if "controller" not in state.spec.recipe.mains or state.spec.recipe.mode != ZK:
        raise UsageError("only Kafka 3.9 with ZooKeeper migrates to KRaft", hint="kfix lab up --kafka 3.9.2 --mode zk")
    if state.spec.is_keeper_secured or state.spec.is_secured or state.network is not None:
        raise UsageError("a lab that is secured or has zones does not migrate: its controllers would be neither")
    alone = step in {"begin", "withdraw"}
    if (node is None) is not alone or (node is not None and node[0] != role):
        raise UsageError(f"kfix lab migrate {step} takes {'no process' if alone else f'a {role}'}")
    if step not in {"begin", "back"} and not state.controllers:
        raise UsageError(f"lab {lab.name!r} is in no migration", hint="kfix lab migrate begin")
    with lab.access() as access:
        assert access.znodes is not None
        if node is None and step == "begin":
            if state.controllers:
                raise UsageError(f"lab {lab.name!r} is in a migration already", hint="kfix lab status")
            add_controller(lab, access.znodes, controllers)
        elif node is None:
            withdraw(lab, access.znodes)
            wait_for("each broker knows a controller with ZooKeeper", lambda: _led_by_a_broker(lab, access), _SECONDS)
        elif role == "controller":
            end_migration(lab, node[1])
        else:
            restart_as(lab, access, node[1], BROKER_STEPS[step])


def _note(lab: LabHandle, nodes: Iterable[int], step: str) -> None:
    steps = {str(each): step for each in nodes}

    def noted(state: LabState) -> LabState:
        return replace(state, migrating={n: s for n, s in (state.migrating | steps).items() if s})

    lab.store.update(noted)


def _without_migration(state: LabState) -> LabState:
    others = tuple(each for each in state.processes if each.role not in {"controller", "format"})
    return replace(state, controllers=(), cluster_id="", migrating={}, processes=others)
