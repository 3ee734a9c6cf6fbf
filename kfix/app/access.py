"""How a caller says which cluster is meant, and how to be let in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kfix.adapters.target import Target, make_target
from kfix.model.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, in the words of Kafka's own tools.

    `bootstrap_servers` is "HOST:PORT,...", `zookeeper` is "HOST:PORT,.../CHROOT"; one of them is enough.
    `command_config` is the file of client properties for TLS and SASL. `timeout` is in seconds, for reading all sources
    of the cluster once.
    """

    bootstrap_servers: str | None = None
    zookeeper: str | None = None
    command_config: Path | None = None
    timeout: float = 5.0

    def target(self) -> Target:
        """Raises UsageError for what is no address, no file of properties or no time."""
        return make_target(self.bootstrap_servers, self.zookeeper, self.command_config, self.timeout)

    def for_plan(self, plan: Plan) -> Access:
        """What the plan knows of its cluster stands in for what the caller left out."""
        return Access(
            self.bootstrap_servers or plan.cluster.bootstrap or None,
            self.zookeeper or plan.cluster.zookeeper or None,
            self.command_config,
            self.timeout,
        )
