"""How commands to paste name the cluster: by its name in the inventory, or by as few servers as necessary."""

import shlex

from kfix.core.derive.casefile import CaseFile

_SERVERS = 2


def servers(case: CaseFile, config_option: str = "--command-config") -> str:
    """Returns the options of Kafka's own tools for this cluster: its address, and its client properties."""
    at = f"--bootstrap-server {shlex.quote(_enough_servers(case) or 'HOST:PORT')}"
    properties = case.snapshot.reached_by.command_config
    return f"{at} {config_option} {shlex.quote(properties)}" if properties else at


def cluster_options(case: CaseFile) -> str:
    """Returns the options of kfix for this cluster: its name in the inventory, or its address as in `servers`."""
    reached = case.snapshot.reached_by
    if reached.profile:
        return shlex.join(reached.options)
    addresses = {"--zookeeper": reached.zookeeper, "--bootstrap-controller": reached.controllers}
    return servers(case) + "".join(f" {option} {shlex.quote(value)}" for option, value in addresses.items() if value)


def _enough_servers(case: CaseFile) -> str:
    """Returns one or two of the bootstrap servers, first the brokers that answered: a command needs no more."""
    addresses = [server for server in case.snapshot.cluster.bootstrap.split(",") if server]
    answered = {str(case.snapshot.addresses[b]) for b in case.views if b in case.snapshot.addresses}
    silent = {str(endpoint) for b, endpoint in case.snapshot.addresses.items() if b not in case.views}
    addresses.sort(key=lambda server: (server not in answered) + (server in silent))
    return ",".join(addresses[:_SERVERS])
