"""Verbs on brokers. They return when the keeper of the record and the other brokers see the effect."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.errors import UsageError
from kfix.lab.definition.state import BrokerDef, no_such
from kfix.lab.nodes.nodes import StillRegisteredError
from kfix.lab.nodes.start import wait_brokers
from kfix.lab.process.host import LOOPBACK, free_ports
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kfix.lab.nodes.handle import LabHandle

_SESSION_SECONDS = 45.0
_TRIES = 4
_BETWEEN_TRIES_SECONDS = 3.0


def wait_gone(lab: LabHandle, brokers: Iterable[int]) -> bool:
    """Returns True when no broker of these is registered any more, and False where that cannot come to pass: without a
    majority of the controllers nothing fences a broker.
    """
    gone = set(brokers)
    authority = lab.authority
    if not authority.buries_now():
        return False
    with lab.access() as access:
        wait_for(
            f"{authority.buries} of brokers {sorted(gone)}",
            lambda: access.are_gone(gone),
            _SESSION_SECONDS,
        )
    return True


def kill_brokers(lab: LabHandle, brokers: Iterable[int], *, wait: bool = True) -> bool:
    """Sends SIGKILL and returns when the processes are gone; with `wait`, when their sessions have ended, too, which is
    the session timeout later. Returns whether they have.
    """
    dying = tuple(brokers)
    lab.nodes.kill(lab.state, dying)
    return wait and wait_gone(lab, dying)


def restart_brokers(lab: LabHandle, brokers: Iterable[int]) -> None:
    """Shuts down those that are alive, then starts all of `brokers`, and returns when they answer."""
    wanted = tuple(brokers)
    known = lab.broker_ids
    for broker in wanted:
        if broker not in known:
            raise no_such(lab.state, "broker", broker)
    state = lab.state
    lab.nodes.shutdown(state, [each for each in wanted if lab.nodes.condition(state, "broker", each) != "dead"])
    start_brokers(lab, wanted)


def start_brokers(lab: LabHandle, brokers: Iterable[int]) -> None:
    """Starts dead brokers in parallel, after their old sessions have ended: else they die of NodeExists on their id."""
    wanted = tuple(brokers)
    if not wanted:
        return
    for tries_left in reversed(range(_TRIES)):
        wait_gone(lab, [each for each in wanted if lab.nodes.condition(lab.state, "broker", each) == "dead"])
        _start_dead(lab, wanted)
        try:
            with lab.access() as access:
                wait_brokers(lab, access, wanted)
        except StillRegisteredError:
            # After a lost quorum one ZooKeeper server may have a session that the server we asked has forgotten.
            if not tries_left:
                raise
            time.sleep(_BETWEEN_TRIES_SECONDS)
        else:
            return


def _start_dead(lab: LabHandle, wanted: tuple[int, ...]) -> None:
    state = lab.state
    dead = []
    for number in wanted:
        broker = state.broker(number)
        if broker is None or broker.retired:
            raise UsageError(f"lab {lab.name!r} has no broker {number}", hint=f"its brokers: {lab.broker_ids}")
        if lab.nodes.condition(state, "broker", number) == "dead":
            dead.append(broker)
    lab.authority.prepare(dead)
    for broker in dead:
        lab.nodes.start(state, "broker", broker)


def add_broker(lab: LabHandle, new_id: int, rack: str | None = None, ports: Sequence[int] = ()) -> None:
    """Starts a new broker with an empty disk. `ports` are those of a broker it replaces, one per listener."""
    if lab.state.broker(new_id) is not None or lab.state.controller(new_id) is not None:
        raise UsageError(f"lab {lab.name!r} already has a node {new_id}", hint="choose another id, or restart that one")
    with lab.store.choosing_ports() as taken:
        listeners = lab.state.spec.listeners
        port, *more = ports or free_ports(listeners, taken, LOOPBACK.can_bind)
        network = lab.state.network
        if network is not None and (rack is None or network.zone(rack) is None):
            raise UsageError(f"lab {lab.name!r} has no zone {rack}", hint="the rack of a broker is its zone here")
        added = BrokerDef(
            new_id,
            port,
            rack,
            original=False,
            sasl_port=more[0] if lab.state.spec.listener else None,
            zone=rack if network is not None else None,
            control_port=more[-1] if lab.state.spec.has_control_port else None,
        )
        lab.store.update(lambda state: state.with_broker(added))
    lab.nodes.wipe_disk(lab.state, new_id)
    start_brokers(lab, [new_id])


def replace_broker(lab: LabHandle, dead: int, new_id: int) -> None:
    """Starts a broker with another id and an empty disk at the address of a dead one, as a re-created container."""
    old = lab.state.broker(dead)
    if old is None:
        raise UsageError(f"lab {lab.name!r} has no broker {dead}", hint=f"its brokers: {lab.broker_ids}")
    lab.store.update(lambda state: state.with_broker(replace(old, retired=True)))
    lab.nodes.wipe_disk(lab.state, dead)
    add_broker(
        lab, new_id, old.rack, [port for port in (old.port, old.sasl_port, old.control_port) if port is not None]
    )


def remove_broker(lab: LabHandle, broker_id: int) -> None:
    state = lab.state
    if lab.nodes.condition(state, "broker", broker_id) != "dead":
        lab.nodes.kill(state, [broker_id])
    wait_gone(lab, [broker_id])
    with lab.access() as access:
        access.forget(broker_id)
    lab.nodes.wipe_disk(state, broker_id)
    lab.store.update(lambda current: current.without_broker(broker_id))
