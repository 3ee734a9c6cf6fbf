"""The `zookeeper.*` keys of a client properties file: as in Kafka's brokers and `--zk-tls-config-file`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kfix.core.properties.parsing import Property
from kfix.core.properties.reading import PropertiesReading
from kfix.core.properties.zookeeper_logins import read_digest, read_sasl_login
from kfix.core.tls.settings import VERSIONS, Tls
from kfix.core.zookeeper.access import TLS_KEYS, TLS_SWITCH, ZooKeeperAccess

_SOCKET: Final = "zookeeper.clientCnxnSocket"
_NETTY: Final = "org.apache.zookeeper.ClientCnxnSocketNetty"
_SWITCHES: Final = {"true": True, "false": False, "": False}
#: A key of Kafka's clients in a sentence, and not a part of a path.
_KEY: Final = re.compile(r"(?<![\w./-])ssl\.(?=[a-z])")
_KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105 - the name of a key
#: ZooKeeper has one password for a store and its key.
_RENAMED: Final = {_KEY_PASSWORD: "zookeeper.ssl.keystore.password"}


def read_access(reading: PropertiesReading) -> ZooKeeperAccess:
    """Returns the credentials for ZooKeeper; adds the mistakes to the reading."""
    return ZooKeeperAccess(_tls(reading), read_digest(reading), read_sasl_login(reading))


def _tls(reading: PropertiesReading) -> Tls | None:
    switch = reading.get(TLS_SWITCH).lower()
    if switch not in _SWITCHES:
        reading.problem(f"{TLS_SWITCH} is true or false, not {reading.get(TLS_SWITCH)!r}", TLS_SWITCH)
        return None
    stores = [key for key in reading.values if key.startswith((f"{TLS_KEYS}keystore.", f"{TLS_KEYS}truststore."))]
    if not _SWITCHES[switch]:
        if stores and not reading.has(TLS_SWITCH):
            reading.problem(
                f"{stores[0]} has no effect without {TLS_SWITCH}=true: ZooKeeper would be read in plain text", stores[0]
            )
        return None
    if reading.get(_SOCKET, default=_NETTY) != _NETTY:
        reading.problem(f"{TLS_SWITCH}=true needs {_SOCKET}={_NETTY}", _SOCKET)
    from kfix.core.properties.tls import read_tls  # noqa: PLC0415 - only ZooKeeper with TLS needs it

    inside = _OfZooKeeper(reading)
    tls = read_tls(inside)
    reading.problems += inside.problems
    return tls


class _OfZooKeeper(PropertiesReading):
    """The keys of ZooKeeper's TLS, under the names of Kafka's clients' keys."""

    def __init__(self, reading: PropertiesReading) -> None:
        super().__init__(reading.path, reading.values)
        protocol, enabled = f"{TLS_KEYS}protocol", f"{TLS_KEYS}enabled.protocols"
        if reading.get(protocol) in VERSIONS and not reading.has(enabled):
            # As ZooKeeper does: then only this protocol is enabled.
            self.values: Mapping[str, Property] = {**reading.values, enabled: reading.values[protocol]}

    def get(self, *keys: str, default: str = "") -> str:
        return super().get(*map(_name, keys), default=default)

    def problem(self, text: str, *keys: str) -> None:
        text = text.replace(_KEY_PASSWORD, _RENAMED[_KEY_PASSWORD])
        super().problem(_KEY.sub(TLS_KEYS, text), *map(_name, keys))


def _name(key: str) -> str:
    return _RENAMED.get(key, f"zookeeper.{key}")
