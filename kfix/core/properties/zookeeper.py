"""The `zookeeper.*` keys of a client properties file: as in Kafka's brokers and `--zk-tls-config-file`."""

import re
from collections.abc import Mapping
from typing import Final

from kfix.core.properties.jaas import JAAS_FILE, KAFKA_SECTION, Jaas, JaasError, has_section, parse_jaas, section_of
from kfix.core.properties.parsing import PropertiesReading, Property
from kfix.core.tls.settings import VERSIONS, Tls
from kfix.core.zookeeper.access import EXTRA, MECHANISM, TLS_KEYS, TLS_SWITCH, ZooKeeperAccess, has_sasl

# The logins at ZooKeeper: the scheme digest, and the JAAS section with which Kafka's brokers log in.

DIGEST: Final = "zookeeper.auth.digest"
JAAS: Final = "zookeeper.sasl.jaas.config"
#: ZooKeeper's system properties: the section of a file of logins, and whether SASL is used at all.
SECTION: Final = "zookeeper.sasl.clientconfig"
SWITCH: Final = "zookeeper.sasl.client"
_MODULE: Final = "DigestLoginModule"
_NO_KERBEROS: Final = f"Kerberos is not supported at ZooKeeper; with {SWITCH}=false it is read without a login"


def read_digest(reading: PropertiesReading) -> str:
    """Returns USER:PASSWORD, empty if there is none; adds the mistakes to the reading."""
    given = reading.get(DIGEST)
    user, _, password = given.partition(":")
    if given and not (user and password):
        reading.problem(f"{DIGEST} is not USER:PASSWORD (not shown, it may be a secret)", DIGEST)
        return ""
    return given


def read_sasl_login(reading: PropertiesReading) -> tuple[str, str] | None:
    """Returns (user, password) of SASL, None if there is none; adds the mistakes to the reading."""
    key = next(filter(reading.has, (JAAS, JAAS_FILE)), "")
    switch = reading.get(SWITCH, default="true").lower()
    if switch not in {"true", "false"}:
        reading.problem(f"{SWITCH} is true or false, not {reading.get(SWITCH)!r}", SWITCH)
    if not key or switch == "false":
        return None
    before = len(reading.problems)
    text = reading.get(JAAS) if key == JAAS else _section(reading)
    if text is None:
        return None
    jaas = Jaas()
    try:
        jaas = parse_jaas(text)
    except JaasError as error:
        reading.problem(f"{key}: {error}", key)
    user, password = jaas.options.get("username", ""), jaas.options.get("password", "")
    if len(reading.problems) > before:
        return None
    if jaas.module != _MODULE:
        reading.problem(f"{key}: ZooKeeper needs the {_MODULE}: {_NO_KERBEROS}", key)
    elif not user or not password:
        reading.problem(f"{key}: the {_MODULE} needs username and password", key)
    elif not has_sasl():
        reading.problem(f"{key}: SASL {MECHANISM} needs pure-sasl: {EXTRA}", key)
    else:
        return user, password
    return None


def _section(reading: PropertiesReading) -> str | None:
    """Returns the login modules of ZooKeeper's section; None if the file, of Kafka's clients alone, has none."""
    needed = reading.has(SECTION) or not has_section(reading, KAFKA_SECTION)
    return section_of(reading, reading.get(SECTION, default="Client"), SECTION, needed=needed)


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
