"""Names a cluster, and the credentials for it, as a caller gives them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.errors import UsageError
from kfix.core.properties.load import load_client_properties
from kfix.core.target import Target, make_target

if TYPE_CHECKING:
    from kfix.core.inventory.model import ClusterEntry, Mute

#: Mechanisms that send the password or the token itself.
_SENT: Final = {"PLAIN", "OAUTHBEARER"}
_BEFORE_THE_ID: Final = "{} sends its secret before the cluster's id is compared: a broker shows it after the login"


@dataclass(frozen=True, slots=True)
class ListedCluster:
    """A cluster's inventory entry, all mutes of the inventory, and notes on where the inventory was found.

    `foreign` is whether the inventory is neither the user's nor the host's.
    """

    entry: ClusterEntry
    mutes: tuple[Mute, ...] = ()
    notes: tuple[str, ...] = ()
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A cluster in the terms of Kafka's own tools.

    - `bootstrap_servers` is "HOST:PORT,...", `zookeeper` is "HOST:PORT,.../CHROOT"; one of them is enough.
      `controllers` is "HOST:PORT,..." of KRaft controllers.
    - `command_config` is the file of client properties for TLS and SASL.
    - `timeout` is in seconds, for reading all sources of the cluster once.
    - `name` is the cluster's name in the inventory that supplied the rest (core/contexts/profiles.py); `besides` are
      the options given together with the name, which override the inventory; `expected_id` is the cluster's id in the
      inventory, and `listed` is the whole entry.
    """

    bootstrap_servers: str | None = None
    zookeeper: str | None = None
    command_config: Path | None = None
    timeout: float = 5.0
    name: str = ""
    besides: tuple[str, ...] = ()
    controllers: str | None = None
    expected_id: str = ""
    listed: ListedCluster | None = None

    def __post_init__(self) -> None:
        """Takes the name of a file for its path, too."""
        if isinstance(self.command_config, str):
            object.__setattr__(self, "command_config", Path(self.command_config))

    def options(self) -> list[str]:
        """Returns the options that reach the same cluster, as words of a command to paste."""
        if self.name:
            return ["-c", self.name, *self.besides]
        named = {
            "--bootstrap-server": self.bootstrap_servers,
            "--zookeeper": self.zookeeper,
            "--bootstrap-controller": self.controllers,
            "--command-config": self.command_config,
        }
        return [word for option, value in named.items() if value for word in (option, str(value))]

    def beside_the_address(self) -> list[str]:
        """Returns the options that a command on a plan repeats: the name, or the client properties, if given.

        The plan itself has the addresses.
        """
        if self.name:
            return ["-c", self.name, *self.besides]
        return ["--command-config", str(self.command_config)] if self.command_config else []

    @property
    def at(self) -> str:
        """Returns `beside_the_address` for a shell: the end of such a command, each word after a space."""
        return "".join(f" {shlex.quote(word)}" for word in self.beside_the_address())

    @property
    def criteria(self) -> Criteria:
        """Returns how the inventory has the cluster judged."""
        return CRITERIA if self.listed is None else self.listed.entry.criteria

    def target(self) -> Target:
        """Returns the target. Raises UsageError for an invalid address, properties file or time."""
        target = make_target(
            self.bootstrap_servers,
            self.zookeeper,
            self.command_config,
            self.timeout,
            self.controllers,
            trusted=self._trusted,
        )
        entry = self.listed.entry if self.listed is not None and self.listed.entry.trusted else None
        return replace(
            target,
            name=self.name,
            besides=self.besides,
            expected_id=self.expected_id,
            restart_command=entry.restart_command if entry is not None else "",
            upgrade_command=entry.upgrade_command if entry is not None else "",
        )

    @property
    def _trusted(self) -> bool:
        """Whether the client properties may read other secrets: the caller named them, or trusts their inventory."""
        listed = self.listed
        return listed is None or listed.entry.trusted or str(self.command_config) != listed.entry.command_config

    def notes(self) -> tuple[str, ...]:
        """Returns one line if the inventory is not the user's own, and one for each client property that is unused."""
        notes = () if self.listed is None else self.listed.notes
        if self.command_config is None:
            return notes
        try:
            properties = load_client_properties(self.command_config, trusted=self._trusted)
        except UsageError:
            return notes
        if self.listed is not None and self.listed.foreign and properties.security.mechanism in _SENT:
            notes += (_BEFORE_THE_ID.format(properties.security.mechanism),)
        return (*notes, *properties.notes)
