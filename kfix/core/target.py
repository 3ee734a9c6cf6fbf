"""The address of a cluster and the client security settings, from the same options as Kafka's own tools."""

from dataclasses import dataclass, field
from pathlib import Path

from kfix.core.endpoint import parse_endpoints
from kfix.core.errors import UsageError
from kfix.core.kafka.security import Security
from kfix.core.properties.load import ClientProperties, load_client_properties
from kfix.core.snapshot.snapshot import Endpoint, ReachedBy
from kfix.core.zookeeper.access import ZooKeeperAccess
from kfix.core.zookeeper.connect import Connect, parse_connect


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster to read. `timeout` (seconds) limits one snapshot, all sources together.

    `name` is the cluster's name in an inventory, "" if an address was given; `besides` are the options given besides
    the name, and `expected_id` is the inventory's id for it. `controllers` are listeners of KRaft controllers, if their
    addresses in the brokers' settings are not reachable from here. `restart_command` and `upgrade_command` are those
    of a trusted inventory.
    """

    bootstrap: tuple[Endpoint, ...]
    zookeeper: Connect | None = None
    security: Security = field(default_factory=Security)
    timeout: float = 5.0
    command_config: Path | None = None
    name: str = ""
    besides: tuple[str, ...] = ()
    controllers: tuple[Endpoint, ...] = ()
    expected_id: str = ""
    zookeeper_access: ZooKeeperAccess = field(default_factory=ZooKeeperAccess)
    restart_command: str = ""
    upgrade_command: str = ""

    @property
    def reached_by(self) -> ReachedBy:
        zookeeper = "" if self.zookeeper is None else str(self.zookeeper)
        return ReachedBy(self.name, str(self.command_config or ""), zookeeper, self.besides, self.controllers_text)

    @property
    def bootstrap_text(self) -> str:
        return ",".join(map(str, self.bootstrap))

    @property
    def controllers_text(self) -> str:
        return ",".join(map(str, self.controllers))


def make_target(
    bootstrap: str | None,
    zookeeper: str | None,
    command_config: Path | None = None,
    timeout: float = 5.0,
    controllers: str | None = None,
    *,
    trusted: bool = True,
) -> Target:
    """Returns the target. `trusted` is whether the client properties may read other secrets."""
    properties = ClientProperties(Security())
    if command_config is not None:
        properties = load_client_properties(command_config, trusted=trusted)
    if not bootstrap and not zookeeper and not properties.bootstrap:
        raise UsageError(
            "no cluster given: neither --bootstrap-server nor --zookeeper",
            hint="one of them is enough: --bootstrap-server HOST:PORT, or bootstrap.servers in --command-config",
        )
    if not 0 < timeout <= 3600:
        raise UsageError(f"--timeout: {timeout:g} is not between 0 and 3600 seconds")
    if bootstrap:
        servers = parse_bootstrap(bootstrap)
    else:
        # With --zookeeper alone the brokers are the ones that ZooKeeper names: the file may be another cluster's.
        own = "" if zookeeper else properties.bootstrap
        servers = parse_bootstrap(own, f"{command_config}: bootstrap.servers") if own else ()
    return Target(
        bootstrap=servers,
        zookeeper=parse_connect(zookeeper, properties.access) if zookeeper else None,
        security=properties.security,
        zookeeper_access=properties.access,
        timeout=timeout,
        command_config=command_config,
        controllers=parse_bootstrap(controllers, "--bootstrap-controller") if controllers else (),
    )


def parse_bootstrap(text: str, option: str = "--bootstrap-server") -> tuple[Endpoint, ...]:
    """Returns the addresses. Raises UsageError with the first invalid part and its column."""
    found, faults = parse_endpoints(text)
    for fault in faults:
        raise UsageError(f"{option}: {fault}", hint="example: broker1:9092,broker2:9092")
    return found
