"""`kfix lab up` and `down`: nothing is started before it is recorded where `down` finds it."""

from __future__ import annotations

import contextlib
import secrets
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import KfixError, LabError, UsageError
from kfix.core.private import write_private
from kfix.lab.definition.protocols import READING, SCRAM, USER
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import BrokerDef, ControllerDef, LabState, ZooKeeperDef, new_uuid
from kfix.lab.definition.store import Store, data_folder, private
from kfix.lab.network.commands import require_rights
from kfix.lab.network.topology import lay, lift, plan_network
from kfix.lab.nodes.authority import START_SECONDS
from kfix.lab.nodes.classpath import class_path
from kfix.lab.nodes.logins import start_identity_provider
from kfix.lab.nodes.nodes import JAVA, PortTakenError
from kfix.lab.process.host import LOOPBACK, free_ports, program
from kfix.lab.waiting import POLL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.spec import LabSpec
    from kfix.lab.nodes.handle import LabHandle
    from kfix.lab.nodes.nodes import Nodes


# When a lab is up: every broker is registered, and every broker answers and names all others.


def wait_brokers(lab: LabHandle, access: LabClient, started: Iterable[int], seconds: float = START_SECONDS) -> None:
    """Returns when all of `started` answer and name every live broker."""
    started = tuple(started)
    nodes, state = lab.nodes, lab.state
    deadline = time.monotonic() + seconds
    while not _all_answer(nodes, access, state, started):
        nodes.raise_if_dead(state, "broker", started)
        if time.monotonic() > deadline:
            raise LabError(
                f"brokers {', '.join(map(str, started))} are not ready after {seconds:.0f} s",
                hint="is the machine overloaded? see the lab's logs",
            )
        time.sleep(POLL_SECONDS)


def _all_answer(nodes: Nodes, access: LabClient, state: LabState, started: tuple[int, ...]) -> bool:
    registered = access.live_ids()
    if not registered.issuperset(started):
        return False
    expected = set(nodes.brokers_in(state, "alive")) & registered
    for broker in started:
        seen = access.metadata(broker)
        # No controller yet: CreateTopics and elections would fail.
        if seen is None or seen.controller < 0 or not seen.brokers.keys() >= expected:
            return False
    return True


_PORTS_A_ZOOKEEPER = 3


def start_lab(lab: LabHandle, spec: LabSpec, progress: Callable[[str], None]) -> None:
    """Returns when every broker answers. A start that fails or is interrupted leaves nothing but its logs."""
    store = lab.store
    program("java", JAVA)
    if spec.zones:
        require_rights()
    class_path(spec.recipe, spec.kafka_home, progress)
    with store.busy("up"):
        if store.exists():
            raise UsageError(
                f"lab {spec.name!r} already exists", hint=f"kfix lab down --name {spec.name}, or another --name"
            )
        try:
            try:
                _start(lab, spec, progress)
            except PortTakenError as taken:
                progress(f"{taken}; trying again with other ports")
                end_lab(lab)
                _start(lab, spec, progress)
        except BaseException as problem:
            with _uninterrupted():
                kept = _keep_logs(store)
                end_lab(lab)
            if isinstance(problem, KfixError):
                problem.hint = problem.hint.replace(str(store.dir / "logs"), str(kept))
            raise


def _start(lab: LabHandle, spec: LabSpec, progress: Callable[[str], None]) -> None:
    state = _claim(spec, lab.store)
    spec = state.spec
    private(Path(state.data))
    if spec.is_secured or spec.is_keeper_secured:
        from kfix.lab.security.files import write_authority  # noqa: PLC0415 - brings cryptography

        progress("signing the certificates")
        write_authority(state)
        if state.oidc_port is not None:
            start_identity_provider(lab.nodes, state, state.oidc_port)
        if state.kdc_port is not None:
            from kfix.lab.nodes.logins import make_realm, start_kdc  # noqa: PLC0415 - only GSSAPI needs it

            progress("starting the KDC")
            make_realm(state)
            start_kdc(lab.nodes, state)
    authority = lab.authority
    progress(f"starting {authority.title} and {len(spec.ids)} brokers")
    authority.start_lab()
    authority.wait()
    progress(f"{authority.title} serves; waiting for the brokers")
    with lab.access() as access:
        wait_brokers(lab, access, spec.ids)
        if spec.listener:
            _open_listener(lab, access, progress)
    if spec.is_keeper_secured and not spec.is_secured:
        from kfix.lab.security.files import write_clients  # noqa: PLC0415 - brings cryptography

        write_clients(lab.state, lab.bootstrap_servers)
    progress(f"{len(spec.ids)} brokers are up")
    lab.nodes.make_class_archive(lab.state)


def _open_listener(lab: LabHandle, access: LabClient, progress: Callable[[str], None]) -> None:
    """Returns when every broker lets the lab's user in at the second listener."""
    from kfix.lab.clients.confluent import create_scram  # noqa: PLC0415 - brings the clients
    from kfix.lab.clients.rights import await_logins, scram_ways  # noqa: PLC0415 - brings the clients

    state, spec = lab.state, lab.state.spec
    addresses = lab.nodes.sasl_addresses(state)
    if spec.sasl is not None and spec.mechanism_used in {"", *SCRAM}:
        progress("creating the SCRAM credentials")
        create_scram(access.admin(), *spec.sasl)
    if not spec.is_secured:
        await_logins(addresses, scram_ways(*(spec.sasl or ("", ""))))
        return
    from kfix.core.properties.load import load_security  # noqa: PLC0415 - brings the protocol code
    from kfix.lab.security.files import write_clients  # noqa: PLC0415 - brings cryptography

    if spec.acls:
        from kfix.lab.clients.rights import grant  # noqa: PLC0415 - brings the clients

        progress(f"granting the rights of {spec.principal}")
        grant(access.admin(), spec.principal, READING)
    write_clients(state, ",".join(addresses))
    await_logins(addresses, [load_security(Path(each)) for each in lab.client_files])


def _claim(spec: LabSpec, store: Store) -> LabState:
    lab_id = secrets.token_hex(8)
    if spec.mechanism_used and spec.sasl is None:
        spec = replace(spec, sasl=(USER, secrets.token_urlsafe(18)))
    with store.choosing_ports() as taken:
        count = _PORTS_A_ZOOKEEPER * spec.servers + spec.listeners * len(spec.ids) + len(spec.controller_ids)
        count += spec.has_identity_provider + spec.has_kdc + spec.servers * spec.has_keeper_tls
        ports = iter(free_ports(count, taken, LOOPBACK.can_bind))

        def secured_port() -> int | None:
            return next(ports) if spec.has_keeper_tls else None

        network = plan_network(lab_id, spec.zone_names) if spec.zones else None
        state = LabState(
            name=spec.name,
            id=lab_id,
            spec=spec,
            data=str(data_folder(spec.name, lab_id, store.dir)),
            zookeepers=tuple(
                ZooKeeperDef(number, next(ports), next(ports), next(ports), spec.zone_of(number - 1), secured_port())
                for number in range(1, spec.servers + 1)
            ),
            brokers=tuple(
                BrokerDef(
                    each,
                    next(ports),
                    spec.rack_of(each),
                    sasl_port=next(ports) if spec.listener else None,
                    zone=spec.zone_of(position),
                    control_port=next(ports) if spec.has_control_port else None,
                )
                for position, each in enumerate(sorted(spec.ids))
            ),
            network=network,
            controllers=tuple(
                ControllerDef(each, next(ports), new_uuid(), spec.zone_of(position))
                for position, each in enumerate(spec.controller_ids)
            ),
            secret=secrets.token_urlsafe(18) if spec.is_secured or spec.is_keeper_secured else "",
            oidc_port=next(ports) if spec.has_identity_provider else None,
            kdc_port=next(ports) if spec.has_kdc else None,
            cluster_id=new_uuid() if spec.recipe.mode == KRAFT else "",
        )
        store.save(state)
        if network is not None:
            lay(network)
    return state


def end_lab(lab: LabHandle) -> tuple[str, ...]:
    """Ends every process of the lab, recorded or not, and removes its network, data, logs and state."""
    store = lab.store
    state = store.load() if store.exists() else None
    ended = lab.nodes.end_all(state.id) if state else 0
    if state is not None and state.network is not None:
        lift(state.network)
    store.remove(state.data if state else None, state.id if state else None)
    return (f"ended {ended} processes of lab {store.name}", "removed its data, logs and state")


def _keep_logs(store: Store) -> Path:
    """Keeps the logs of a failed start, one of which its error names; the lab itself is removed."""
    kept = store.home / ".failed" / store.name
    if (store.dir / "logs").is_dir():
        private(kept, store.home)
        for log in (store.dir / "logs").glob("*.log"):
            with contextlib.suppress(OSError):
                write_private(kept / log.name, log.read_bytes())
    return kept


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignores a second Ctrl-C, which must not leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
