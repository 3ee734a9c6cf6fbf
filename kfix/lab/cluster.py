"""`Lab`: one throw-away cluster, by name. Its memory is on disk, so any process goes on where another ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kfix.errors import LabError
from kfix.lab.background import summary
from kfix.lab.brokers import add_broker, start_brokers, wait_gone
from kfix.lab.network import power, weather
from kfix.lab.nodes import Nodes, no_such
from kfix.lab.report import Broken, LabStatus, ProcessStatus
from kfix.lab.spec import LabSpec, check_name
from kfix.lab.start import end_lab, start_lab
from kfix.lab.store import Store, lab_names
from kfix.lab.zookeepers import start_zookeepers

if TYPE_CHECKING:
    from collections.abc import Callable

    from kfix.lab.access import LabClient
    from kfix.lab.network.zone import LinkCut, Zone
    from kfix.lab.state import LabState


class Lab:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.nodes = Nodes(store)

    @classmethod
    def up(cls, spec: LabSpec | None = None, progress: Callable[[str], None] = lambda _: None) -> Lab:
        spec = spec or LabSpec()
        lab = cls(Store(spec.name))
        start_lab(spec, lab.store, lab.nodes, lab.access, progress)
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

    # --- where it is ----------------------------------------------------------------------------------------------

    @property
    def state(self) -> LabState:
        return self.store.load()

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(broker.id for broker in self.state.brokers if not broker.retired)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.address(broker) for broker in self.broker_ids)

    @property
    def sasl_bootstrap_servers(self) -> str | None:
        """None without `LabSpec.sasl`."""
        return ",".join(self.nodes.sasl_addresses(self.state)) or None

    @property
    def zookeeper_connect(self) -> str:
        return self.nodes.zookeeper_connect(self.state)

    def address(self, broker_id: int) -> str:
        broker = self.state.broker(broker_id)
        if broker is None:
            raise no_such(self.state, "broker", broker_id)
        return self.state.address_of(broker)

    def access(self) -> LabClient:
        from kfix.lab.access import LabClient  # noqa: PLC0415 - the client libraries load when a cluster is touched

        return LabClient(self.zookeeper_connect, self.addresses)

    def addresses(self) -> dict[int, str]:
        state = self.state
        return {broker.id: state.address_of(broker) for broker in state.brokers}

    # --- brokers --------------------------------------------------------------------------------------------------

    def kill(self, broker_id: int, *, wait: bool = True) -> None:
        """SIGKILL. With `wait`, until ZooKeeper too knows: its session ends `zookeeper.session.timeout.ms` later."""
        with self.store.busy("kill"):
            self.nodes.kill(self.state, [broker_id])
            if wait:
                wait_gone(self, [broker_id])

    def stop(self, broker_id: int) -> None:
        with self.store.busy("stop"):
            self.nodes.stop(self.state, broker_id)

    def cont(self, broker_id: int) -> None:
        with self.store.busy("cont"):
            self.nodes.cont(self.state, broker_id)

    def shutdown(self, broker_id: int) -> None:
        with self.store.busy("shutdown"):
            self.nodes.shutdown(self.state, [broker_id])

    def restart(self, *broker_ids: int) -> None:
        with self.store.busy("restart"):
            state = self.state
            alive = [broker for broker in broker_ids if self._condition(broker) != "dead"]
            self.nodes.shutdown(state, alive)
            start_brokers(self, broker_ids)

    def start_broker(self, new_id: int, rack: str | None = None) -> None:
        with self.store.busy("start-broker"):
            add_broker(self, new_id, rack)

    def _condition(self, broker_id: int) -> str:
        if broker_id not in self.broker_ids:
            raise no_such(self.state, "broker", broker_id)
        return self.nodes.condition(self.state, "broker", broker_id)

    # --- ZooKeeper ------------------------------------------------------------------------------------------------

    def kill_zookeeper(self, number: int) -> None:
        with self.store.busy("kill zookeeper"):
            self.nodes.kill(self.state, [number], "zookeeper")

    def stop_zookeeper(self, number: int) -> None:
        with self.store.busy("stop zookeeper"):
            self.nodes.stop(self.state, number, "zookeeper")

    def cont_zookeeper(self, number: int) -> None:
        with self.store.busy("cont zookeeper"):
            self.nodes.cont(self.state, number, "zookeeper")

    def restart_zookeeper(self, *numbers: int) -> None:
        """Until each serves: with a quorum where a majority lives, else read-only."""
        with self.store.busy("restart zookeeper"):
            state = self.state
            alive = [number for number in numbers if self.nodes.condition(state, "zookeeper", number) != "dead"]
            self.nodes.shutdown(state, alive, "zookeeper")
            start_zookeepers(self, numbers)

    # --- network --------------------------------------------------------------------------------------------------

    def cut(self, one: str, other: str, *, one_way: bool = False, only: str = "") -> tuple[LinkCut, ...]:
        """See `weather.cut`. What was cut already is not told again."""
        with self.store.busy("cut"):
            return weather.cut(self.store, one, other, one_way=one_way, only=only)

    def isolate(self, zone: str, only: str = "") -> tuple[LinkCut, ...]:
        with self.store.busy("isolate"):
            return weather.isolate(self.store, zone, only)

    def slow(self, zone: str, kbit: int, delay_ms: int = 0) -> None:
        with self.store.busy("slow"):
            weather.slow(self.store, zone, kbit, delay_ms)

    def heal(self) -> int:
        """The network alone: processes that are dead stay dead. How many cuts and slow links there were."""
        with self.store.busy("heal"):
            return weather.heal(self.store)

    def zones(self) -> tuple[Zone, ...]:
        return weather.network_of(self.store).zones

    def zone(self, name: str) -> Zone:
        return weather.zone_of(self.store, name)

    def zone_of_broker(self, broker_id: int) -> str:
        self.zones()
        broker = self.state.broker(broker_id)
        if broker is None or broker.zone is None:
            raise no_such(self.state, "broker", broker_id)
        return broker.zone

    def power_off(self, zone: str) -> tuple[str, ...]:
        with self.store.busy("power-off"):
            return power.off(self, zone)

    def power_on(self, zone: str) -> tuple[str, ...]:
        with self.store.busy("power-on"):
            return power.on(self, zone)

    # --- incidents ------------------------------------------------------------------------------------------------

    def break_(self, name: str, progress: Callable[[str], None] = lambda _: None, **options: Any) -> Broken:
        from kfix.lab.breaking import break_lab  # noqa: PLC0415 - brings the client libraries

        with self.store.busy(f"break {name}"):
            return break_lab(self, name, options, progress)

    def mend(self, progress: Callable[[str], None] = lambda _: None) -> tuple[str, ...]:
        from kfix.lab.mend import mend_lab  # noqa: PLC0415 - brings the client libraries

        with self.store.busy("mend"):
            return mend_lab(self, progress)

    # --- the whole ------------------------------------------------------------------------------------------------

    def status(self) -> LabStatus:
        state = self.state
        places: list[tuple[str, int, str, str | None]] = [
            ("zookeeper", node.id, state.address_of(node), node.zone) for node in state.zookeepers
        ]
        places += [("broker", each.id, state.address_of(each), each.rack) for each in state.brokers if not each.retired]
        places += [("workload", each.id, "", None) for each in state.processes if each.role == "workload"]
        return LabStatus(
            name=state.name,
            kafka=state.spec.kafka,
            bootstrap_servers=self.bootstrap_servers,
            sasl_bootstrap_servers=self.sasl_bootstrap_servers,
            zookeeper_connect=self.zookeeper_connect,
            folder=str(self.store.dir),
            processes=tuple(self._process(state, *place) for place in places),
            incident=state.incident,
            network=weather.sentences(state.network),
        )

    def _process(self, state: LabState, role: str, number: int, address: str, rack: str | None) -> ProcessStatus:
        record = state.record(role, number)
        condition = self.nodes.condition(state, role, number)
        note = summary(self, number) if role == "workload" else ""
        return ProcessStatus(role, number, record.pid if record else None, condition, address, rack, note)

    def down(self) -> tuple[str, ...]:
        with self.store.busy("down"):
            if not self.store.exists():
                raise LabError(f"lab {self.name!r} is down already")
            return end_lab(self.store, self.nodes)


def down_all() -> tuple[str, ...]:
    return tuple(sentence for name in lab_names() for sentence in Lab.open(name).down())
