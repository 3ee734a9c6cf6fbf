"""The processes of one lab: start, condition, signals."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.errors import LabError, UsageError
from kfix.lab.definition.properties import broker_settings, render, zookeeper_settings
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.definition.state import no_such, word_of
from kfix.lab.definition.store import private
from kfix.lab.nodes.classpath import class_path, resource_text
from kfix.lab.process import processes
from kfix.lab.process.host import LOOPBACK, Host, program
from kfix.lab.process.logs import decisive_line, met_a_taken_port, met_its_own_registration
from kfix.lab.process.processes import ProcessRecord
from kfix.private import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kfix.lab.definition.state import BrokerDef, LabState, ZooKeeperDef
    from kfix.lab.definition.store import Store

JAVA = "a Java runtime, 11 or newer (Debian: default-jre-headless)"
_KILL_SECONDS = 15.0
_SHUTDOWN_SECONDS = 45.0
_SIGNAL_SECONDS = 15.0


class StillRegisteredError(LabError):
    """A broker found its own id registered in ZooKeeper: its previous session has not ended yet."""


class PortTakenError(LabError):
    """Another process took the port between the bind test and the start."""


class Nodes:
    def __init__(self, store: Store) -> None:
        self._store = store

    # --- starting -------------------------------------------------------------------------------------------------

    def start_zookeeper(self, state: LabState, node: ZooKeeperDef) -> None:
        data = Path(state.data, f"zookeeper-{node.id}")
        private(data)
        (data / "myid").write_text(str(node.id), encoding="ascii")
        ensemble = {each: state.host_of(each).address for each in state.zookeepers}
        settings = zookeeper_settings(node, ensemble, data)
        # Without a quorum a member of an ensemble serves clients that only read. Not with zones, where a member is cut
        # on purpose: on 3.5.9 it then forgets sessions for good, and a lab with zones is to heal by itself.
        flags = ("-Dreadonlymode.enabled=true",) if len(state.zookeepers) > 1 and state.network is None else ()
        self._start_jvm(state, "zookeeper", node, render(settings), flags)

    def start_broker(self, state: LabState, broker: BrokerDef) -> None:
        log_dir = self.disk_of(state, broker.id)
        private(log_dir)
        address = state.host_of(broker).address
        settings = broker_settings(state.spec, broker, self.zookeeper_connect(state), address, log_dir)
        self._start_jvm(state, "broker", broker, render(settings))

    def disk_of(self, state: LabState, broker_id: int) -> Path:
        return Path(state.data, f"broker-{broker_id}")

    def wipe_disk(self, state: LabState, broker_id: int) -> None:
        shutil.rmtree(self.disk_of(state, broker_id), ignore_errors=True)

    def zookeeper_connect(self, state: LabState) -> str:
        return ",".join(state.address_of(node) for node in state.zookeepers) + state.spec.chroot

    def sasl_addresses(self, state: LabState) -> tuple[str, ...]:
        return tuple(
            f"{state.host_of(each).address}:{each.sasl_port}"
            for each in state.brokers
            if each.sasl_port is not None and not each.retired
        )

    def _start_jvm(
        self,
        state: LabState,
        role: str,
        node: BrokerDef | ZooKeeperDef,
        properties: str,
        flags: Sequence[str] = (),
    ) -> None:
        number = node.id
        recipe = recipe_of(state.spec.kafka)
        main = recipe.broker_class if role == "broker" else recipe.authority_class
        file = Path(state.data, f"{role}-{number}.properties")
        write_private(file, properties.encode())
        log4j = Path(state.data, "log4j.properties")
        if not log4j.exists():
            write_private(log4j, resource_text("log4j.properties").encode())
        command = [
            *(program("java", JAVA), *recipe.jvm_flags, f"-Xmx{state.spec.heap_mb}m", *flags),
            *(f"-Dkfix.lab={state.name}", f"-Dkfix.lab.id={state.id}", f"-Dkfix.lab.role={role}-{number}"),
            # A killed JVM leaves its native libraries in the temp folder; from this one `down` removes them.
            *(f"-Djava.io.tmpdir={state.data}", f"-XX:ErrorFile={state.data}/crash-{role}-{number}.log"),
            f"-Dlog4j.configuration=file:{log4j}",
            *("-cp", class_path(recipe, state.spec.kafka_home, lambda _: None), main, str(file)),
        ]
        self.spawn(role, number, command, state.host_of(node))

    def spawn(self, role: str, number: int, command: Sequence[str], host: Host = LOOPBACK) -> ProcessRecord:
        log = self._store.log_file(role, number)
        private(log.parent)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))  # each start has its own log, so that its failure is found there
        pid, start = host.spawn(command, log)
        record = ProcessRecord(role, number, pid, start, str(log))
        self._store.update(lambda state: state.with_process(record))
        return record

    # --- watching -------------------------------------------------------------------------------------------------

    def condition(self, state: LabState, role: str, number: int) -> str:
        record = state.record(role, number)
        return processes.state_of(record, state.id) if record else "dead"

    def brokers_in(self, state: LabState, condition: str) -> tuple[int, ...]:
        """Returns the brokers that are `alive`, `stopped` or `dead`, without those that another id has replaced."""
        return tuple(
            each.id
            for each in state.brokers
            if not each.retired and self.condition(state, "broker", each.id) == condition
        )

    def zookeepers_in(self, state: LabState, condition: str) -> tuple[int, ...]:
        return tuple(each.id for each in state.zookeepers if self.condition(state, "zookeeper", each.id) == condition)

    def raise_if_dead(self, state: LabState, role: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            if self.condition(state, role, number) != "dead":
                continue
            log = self._store.log_file(role, number)
            kind = PortTakenError if met_a_taken_port(log) else LabError
            kind = StillRegisteredError if met_its_own_registration(log) else kind
            raise kind(f"{role} {number} did not start: {decisive_line(log)}", hint=f"its log: {log}")

    # --- signals --------------------------------------------------------------------------------------------------

    def kill(self, state: LabState, numbers: Iterable[int], role: str = "broker") -> None:
        records = [self._record(state, role, number) for number in numbers]
        for record in records:
            processes.send(record, state.id, signal.SIGKILL)
        processes.wait_dead(records, state.id, _KILL_SECONDS)

    def stop(self, state: LabState, number: int, role: str = "broker") -> None:
        """Sends SIGSTOP and returns when every thread of the process is stopped. Raises LabError if it is dead."""
        record = self._send(state, role, number, signal.SIGSTOP)
        processes.wait_stopped(record, state.id, _SIGNAL_SECONDS)

    def cont(self, state: LabState, number: int, role: str = "broker") -> None:
        """Sends SIGCONT and returns when no thread of the process is stopped. Raises LabError if it is dead."""
        record = self._send(state, role, number, signal.SIGCONT)
        processes.wait_running(record, state.id, _SIGNAL_SECONDS)

    def shutdown(self, state: LabState, numbers: Iterable[int], role: str = "broker") -> None:
        records = [self._record(state, role, number) for number in numbers]
        for record in records:
            if processes.state_of(record, state.id) == "stopped":
                word = word_of(role, record.id)
                raise UsageError(
                    f"{role} {record.id} is stopped and cannot shut down", hint=f"kfix lab cont {word} first"
                )
            processes.send(record, state.id, signal.SIGTERM)
        processes.wait_dead(records, state.id, _SHUTDOWN_SECONDS)

    def end_all(self, lab_id: str) -> int:
        """Kills every process with this lab's tag, recorded or not. Twice: one may have been between fork and exec."""
        ended = 0
        for _ in range(2):
            found = processes.find_tagged(lab_id)
            for record in found:
                if record.pid != os.getpid():
                    ended += processes.send(record, lab_id, signal.SIGKILL)
            processes.wait_dead([each for each in found if each.pid != os.getpid()], lab_id, _KILL_SECONDS)
        return ended

    def _send(self, state: LabState, role: str, number: int, what: signal.Signals) -> ProcessRecord:
        record = self._record(state, role, number)
        if not processes.send(record, state.id, what):
            raise LabError(f"{role} {number} is dead", hint=f"kfix lab restart {word_of(role, number)}")
        return record

    def _record(self, state: LabState, role: str, number: int) -> ProcessRecord:
        record = state.record(role, number)
        if record is None:
            raise no_such(state, role, number)
        return record
