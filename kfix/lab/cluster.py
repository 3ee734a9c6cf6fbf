"""`Lab`: one throw-away cluster, by name. Its state is on disk, so any process can continue where another ended."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kfix.core.errors import LabError
from kfix.lab.definition.spec import LabSpec, check_name
from kfix.lab.definition.state import no_such
from kfix.lab.definition.store import Store, lab_names
from kfix.lab.network import faults
from kfix.lab.nodes import failures
from kfix.lab.nodes.brokers import kill_brokers, restart_brokers
from kfix.lab.nodes.handle import LabHandle
from kfix.lab.nodes.migrating import migrate
from kfix.lab.nodes.start import end_lab, start_lab
from kfix.lab.status import status_of
from kfix.lab.upgrading import upgrade

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kfix.lab.definition.state import LinkCut, Zone
    from kfix.lab.incidents.setup.incident import Broken
    from kfix.lab.status import LabStatus


class Lab(LabHandle):
    @classmethod
    def up(cls, spec: LabSpec | None = None, progress: Callable[[str], None] = lambda _: None) -> Lab:
        spec = spec or LabSpec()
        lab = cls(Store(spec.name))
        start_lab(lab, spec, progress)
        return lab

    @classmethod
    def open(cls, name: str) -> Lab:
        check_name(name)
        lab = cls(Store(name))
        lab.store.load()
        return lab

    @staticmethod
    def names() -> tuple[str, ...]:
        return lab_names()

    # --- processes ------------------------------------------------------------------------------------------------

    def kill(self, number: int, role: str = "broker", *, wait: bool = True) -> bool:
        """Sends SIGKILL. With `wait`, returns when a broker's session has ended, and True; False where nothing ends it,
        as on KRaft without a majority of the controllers.
        """
        with self._on("kill", role, number) as process:
            if role == "broker":
                return kill_brokers(self, [number], wait=wait)
            self.nodes.kill(self.state, [number], process)
            return False

    def stop(self, number: int, role: str = "broker") -> None:
        with self._on("stop", role, number) as process:
            self.nodes.stop(self.state, number, process)

    def cont(self, number: int, role: str = "broker") -> None:
        with self._on("cont", role, number) as process:
            self.nodes.cont(self.state, number, process)

    def shutdown(self, broker_id: int) -> None:
        with self.store.busy("shutdown"):
            self.nodes.shutdown(self.state, [broker_id])

    def restart(self, *numbers: int, role: str = "broker") -> None:
        """Returns when each of them serves: ZooKeeper with a quorum if a majority is alive, else read-only. A combined
        controller is restarted with its broker.
        """
        with self._on("restart", role, *numbers) as process:
            if process == "broker":
                restart_brokers(self, numbers)
            else:
                self.authority.restart(numbers)

    @contextmanager
    def _on(self, verb: str, role: str, *numbers: int) -> Iterator[str]:
        """Holds the lock of the lab, and yields the role of the process that these run in."""
        with self.store.busy(verb if role == "broker" else f"{verb} {role}"):
            if role != "controller":
                yield role
            elif self.quorum is None:
                raise no_such(self.state, role, numbers[0])
            else:
                yield min({self.quorum.role_of(each) for each in numbers}, default=role)

    def upgrade(self, number: int, kafka: str, role: str = "broker") -> None:
        """Shuts one process down and starts it with another version of Kafka, as a rolling upgrade does.

        Raises UsageError if the lab cannot run that version in its mode, or if it is older.
        """
        with self.store.busy("upgrade"):
            upgrade(self, role, number, kafka)

    def migrate(self, step: str, number: int | None = None, role: str = "broker", controllers: int = 1) -> None:
        """Carries one step of a migration to KRaft out, in the words of `kfix preflight migration`.

        - begin: starts controllers; prepare, move: restart a broker with the settings, or on KRaft
        - finish: restarts a controller without ZooKeeper; of the last one there is no way back
        - withdraw: stops the controllers and deletes their znodes; back: restarts a broker without the settings
        """
        with self.store.busy(f"migrate {step}"):
            migrate(self, step, None if number is None else (role, number), controllers)

    def grow(self, partitions: int, replicas: int, width: int, progress: Callable[[str], None] = lambda _: None) -> int:
        """Creates empty topics until every broker lists `partitions` partitions. Returns how many were created."""
        from kfix.lab.growing import grow  # noqa: PLC0415 - brings the client libraries

        with self.store.busy("grow"):
            return grow(self, partitions, replicas, width, progress)

    # --- network --------------------------------------------------------------------------------------------------

    def cut(self, one: str, other: str, *, one_way: bool = False, only: str = "") -> tuple[LinkCut, ...]:
        """Returns the new cuts: what `one` sends no longer arrives at `other`, nor, without `one_way`, the reverse."""
        with self.store.busy("cut"):
            return faults.cut(self.store, one, other, one_way=one_way, only=only)

    def isolate(self, zone: str, only: str = "") -> tuple[LinkCut, ...]:
        with self.store.busy("isolate"):
            return faults.isolate(self.store, zone, only)

    def slow(self, zone: str, kbit: int, delay_ms: int = 0) -> None:
        with self.store.busy("slow"):
            faults.slow(self.store, zone, kbit, delay_ms)

    def heal(self) -> int:
        """Removes all cuts and slow links and returns their number. Dead processes stay dead."""
        with self.store.busy("heal"):
            return faults.heal(self.store)

    def zones(self) -> tuple[Zone, ...]:
        return faults.network_of(self.store).zones

    def zone(self, name: str) -> Zone:
        return faults.zone_of(self.store, name)

    def zone_of_broker(self, broker_id: int) -> str:
        return faults.zone_of_broker(self.store, broker_id)

    def power_off(self, zone: str) -> tuple[str, ...]:
        with self.store.busy("power-off"):
            return failures.power_off(self, zone)

    def power_on(self, zone: str) -> tuple[str, ...]:
        with self.store.busy("power-on"):
            return failures.power_on(self, zone)

    # --- incidents ------------------------------------------------------------------------------------------------

    def break_(self, name: str, progress: Callable[[str], None] = lambda _: None, **options: Any) -> Broken:
        from kfix.lab.breaking import break_lab  # noqa: PLC0415 - brings the client libraries

        with self.store.busy(f"break {name}"):
            return break_lab(self, name, options, progress)

    def mend(self, progress: Callable[[str], None] = lambda _: None) -> tuple[str, ...]:
        from kfix.lab.healing.mend import mend_lab  # noqa: PLC0415 - brings the client libraries

        with self.store.busy("mend"):
            return mend_lab(self, progress)

    # --- status and end -------------------------------------------------------------------------------------------

    def status(self) -> LabStatus:
        return status_of(self)

    def down(self) -> tuple[str, ...]:
        with self.store.busy("down"):
            if not self.store.exists():
                raise LabError(f"lab {self.name!r} is already down")
            return end_lab(self)


def down_all() -> tuple[str, ...]:
    return tuple(sentence for name in lab_names() for sentence in Lab.open(name).down())
