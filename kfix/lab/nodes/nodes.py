"""The processes of one lab: start, condition, signals."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UsageError
from kfix.core.private import write_private
from kfix.lab.definition.keeper_security import jaas_flags
from kfix.lab.definition.properties import format_arguments, render
from kfix.lab.definition.realm import kerberos_flags
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.secured import identity_provider
from kfix.lab.definition.state import no_such, word_of
from kfix.lab.definition.store import private
from kfix.lab.nodes.class_archive import class_archive, list_file
from kfix.lab.nodes.classpath import class_path, resource_text
from kfix.lab.nodes.configs import disks_of, quorum_of, settings_of
from kfix.lab.process import processes
from kfix.lab.process.host import LOOPBACK, Host, program
from kfix.lab.process.logs import decisive_line, met_a_taken_port, met_its_own_registration
from kfix.lab.process.processes import ProcessRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kfix.lab.definition.state import BrokerDef, LabState, Node
    from kfix.lab.definition.store import Store

#: The role of a broker's process that runs as a broker of another cluster.
STRAY = "stray"
JAVA = "a Java runtime, 11 or newer (Debian: default-jre-headless)"
_KILL_SECONDS = 15.0
_SHUTDOWN_SECONDS = 45.0
_SIGNAL_SECONDS = 15.0
_FORMAT_SECONDS = 60.0
#: Without it a KRaft node refuses to start.
_FORMATTED = "meta.properties"


class StillRegisteredError(LabError):
    """A broker found its own id registered in ZooKeeper: its previous session has not ended yet."""


class PortTakenError(LabError):
    """Another process took the port between the bind test and the start."""


class Nodes:
    def __init__(self, store: Store) -> None:
        self._store = store

    # --- starting -------------------------------------------------------------------------------------------------

    def start(self, state: LabState, role: str, node: Node) -> None:
        flags: tuple[str, ...] = ()
        disk = self.disk_of(state, node.id, role)
        if role != "controller":  # its disk has been formatted, or is lost
            private(disk)
            flags = jaas_flags(state)
        if role == "zookeeper":
            (disk / "myid").write_text(str(node.id), encoding="ascii")
            # Without a quorum a member of an ensemble serves clients that only read. Not with zones, where a member is
            # cut on purpose: on 3.5.9 it then forgets sessions for good, and a lab with zones is to heal by itself.
            if len(state.zookeepers) > 1 and state.network is None:
                flags = ("-Dreadonlymode.enabled=true", *flags)
        file = self._properties(state, role, node, disk)
        self.spawn(role, node.id, [*self._java(state, role, node.id, flags), str(file)], state.host_of(node))

    def start_stray(self, state: LabState, broker: BrokerDef) -> None:
        """Starts a broker as `state` describes it, which is not how lab.json does, with an empty disk of its own."""
        disk = self.disk_of(state, broker.id, STRAY)
        self.wipe_disk(state, broker.id, STRAY)
        private(disk)
        if state.spec.recipe.mode == KRAFT:
            self.format_disks(state, STRAY, [broker])
        file = self._properties(state, STRAY, broker, disk)
        self.spawn(STRAY, broker.id, [*self._java(state, "broker", broker.id), str(file)], state.host_of(broker))

    def format_disks(self, state: LabState, role: str, wanted: Iterable[Node], *, joining: bool = False) -> None:
        """Formats the disks that are not formatted yet, side by side, and returns when all are. Raises LabError.

        `joining` controllers of a dynamic quorum are to be added to its voters.
        """
        voters = {} if joining else quorum_of(state)
        new = [each for each in wanted if not self._is_formatted(state, role, each)]
        records = []
        for node in new:
            disk = self.disk_of(state, node.id, role)
            private(disk)
            file = self._properties(state, role, node, disk)
            arguments = format_arguments(state.spec, node.id, voters, state.cluster_id)
            # A broker may have got a second disk since.
            command = [*self._java(state, "format", node.id), *arguments, "--ignore-formatted", "-c", str(file)]
            records.append(self.spawn("format", node.id, command, state.host_of(node)))
        processes.wait_dead(records, state.id, _FORMAT_SECONDS)
        for node, record in zip(new, records, strict=True):
            if not self._is_formatted(state, role, node):
                raise LabError(
                    f"the disk of {role} {node.id} was not formatted: {decisive_line(Path(record.log))}",
                    hint=f"its log: {record.log}",
                )

    def _is_formatted(self, state: LabState, role: str, node: Node) -> bool:
        return all((disk / _FORMATTED).exists() for disk in disks_of(node, self.disk_of(state, node.id, role)))

    def disk_of(self, state: LabState, number: int, role: str = "broker") -> Path:
        return Path(state.data, f"{role}-{number}")

    def wipe_disk(self, state: LabState, number: int, role: str = "broker") -> None:
        shutil.rmtree(self.disk_of(state, number, role), ignore_errors=True)

    def sasl_addresses(self, state: LabState) -> tuple[str, ...]:
        return tuple(
            f"{state.host_of(each).address}:{each.sasl_port}"
            for each in state.brokers
            if each.sasl_port is not None and not each.retired
        )

    def _properties(self, state: LabState, role: str, node: Node, disk: Path) -> Path:
        file = Path(state.data, f"{role}-{node.id}.properties")
        write_private(file, render(settings_of(state, node, disk)).encode())
        return file

    def _java(self, state: LabState, role: str, number: int, flags: Sequence[str] = ()) -> list[str]:
        """Returns the command up to the main class of that role."""
        recipe = state.recipe_of(role, number)
        log4j = Path(state.data, recipe.log4j)
        if not log4j.exists():
            write_private(log4j, resource_text(recipe.log4j).encode())
        java, jars = program("java", JAVA), class_path(recipe, state.spec.kafka_home, lambda _: None)
        is_first = role != "format" and number == min(each.id for each in state.members(role))
        archive = class_archive(java, jars).flags(list_file(Path(state.data), role) if is_first else None)
        return [
            *(java, *recipe.jvm_flags, *archive, f"-Xmx{state.spec.heap_mb}m", *flags, *_urls(state)),
            *kerberos_flags(state),
            *(f"-Dkfix.lab={state.name}", f"-Dkfix.lab.id={state.id}", f"-Dkfix.lab.role={role}-{number}"),
            # A killed JVM leaves its native libraries in the temp folder; from this one `down` removes them.
            *(f"-Djava.io.tmpdir={state.data}", f"-XX:ErrorFile={state.data}/crash-{role}-{number}.log"),
            f"{recipe.log4j_flag}{log4j}",
            *("-cp", jars, recipe.mains[role]),
        ]

    def make_class_archive(self, state: LabState) -> None:
        """Starts to make the archive with which later processes start faster, if there is none, and returns."""
        jars = class_path(state.spec.recipe, state.spec.kafka_home, lambda _: None)
        log = self._store.log_file("class-archive", 1)
        class_archive(program("java", JAVA), jars).make(Path(state.data), state.id, log)

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
        return self.those_in(state, "broker", condition)

    def those_in(self, state: LabState, role: str, condition: str) -> tuple[int, ...]:
        return tuple(each.id for each in state.members(role) if self.condition(state, role, each.id) == condition)

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


def _urls(state: LabState) -> tuple[str, ...]:
    """Returns the flag without which Kafka 4 asks no identity provider."""
    issuer = identity_provider(state)
    return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer}/jwks,{issuer}/token",) if issuer else ()
