"""The handle of a lab: where it is kept, its processes, its addresses and a client. The verbs are functions on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.secured import CLIENT_FILES
from kfix.lab.definition.state import folder_of, no_such
from kfix.lab.nodes.configs import zookeeper_connect
from kfix.lab.nodes.controllers import ControllerQuorum
from kfix.lab.nodes.nodes import Nodes
from kfix.lab.nodes.zookeepers import ZooKeeperEnsemble

if TYPE_CHECKING:
    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import LabState
    from kfix.lab.definition.store import Store
    from kfix.lab.nodes.authority import Authority


class LabHandle:
    """Everything that a function needs to know of a lab. `kfix.lab.cluster.Lab` adds the verbs for callers outside."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.nodes = Nodes(store)

    @property
    def state(self) -> LabState:
        """The contents of `lab.json`, read again each time."""
        return self.store.load()

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of all brokers, dead ones too, except those that another id has replaced."""
        return tuple(broker.id for broker in self.state.brokers if not broker.retired)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.address(broker) for broker in self.broker_ids)

    @property
    def sasl_bootstrap_servers(self) -> str | None:
        """The addresses of the second listener; None without `LabSpec.sasl` and `LabSpec.security`."""
        return ",".join(self.nodes.sasl_addresses(self.state)) or None

    @property
    def client_files(self) -> tuple[str, ...]:
        """The client properties of a secured lab, for `--command-config`; none without `LabSpec.security`."""
        found = (folder_of(self.state) / name for name in CLIENT_FILES.values())
        return tuple(str(path) for path in found if path.is_file())

    @property
    def zookeeper_connect(self) -> str:
        """Empty on KRaft."""
        return zookeeper_connect(self.state)

    @property
    def authority(self) -> Authority:
        """What keeps the record of the cluster: the ZooKeeper servers or the controllers."""
        return self.quorum or ZooKeeperEnsemble(self.store, self.nodes)

    @property
    def quorum(self) -> ControllerQuorum | None:
        """None with ZooKeeper."""
        return ControllerQuorum(self.store, self.nodes) if self.state.spec.recipe.mode == KRAFT else None

    def address(self, broker_id: int) -> str:
        """Returns host:port of a broker. Raises UsageError if the lab has no such broker."""
        broker = self.state.broker(broker_id)
        if broker is None:
            raise no_such(self.state, "broker", broker_id)
        return self.state.address_of(broker)

    def addresses(self) -> dict[int, str]:
        state = self.state
        return {broker.id: state.address_of(broker) for broker in state.brokers}

    def access(self) -> LabClient:
        """Returns a client of this cluster, to be used in a `with` statement."""
        return self.authority.client(self.addresses)
