"""Reads the `--command-config` file of Kafka's own tools into frozen values (docs/security.md)."""

import resource
from dataclasses import dataclass, field
from pathlib import Path

from kfix.core.endpoint import parse_endpoints
from kfix.core.errors import InvalidFileError
from kfix.core.kafka.security import PROTOCOLS, Security
from kfix.core.properties.keys import OF_ZOOKEEPER, foreign_secrets, key_notes, key_problems
from kfix.core.properties.parsing import NONE, PropertiesReading, read_properties
from kfix.core.properties.providers import resolved
from kfix.core.tls.settings import Tls
from kfix.core.zookeeper.access import ZooKeeperAccess


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """`access` is for ZooKeeper, `bootstrap` the file's `bootstrap.servers`, `notes` are about unused properties."""

    security: Security
    bootstrap: str = ""
    zookeeper: str = ""
    notes: tuple[str, ...] = ()
    access: ZooKeeperAccess = field(default_factory=ZooKeeperAccess)


def load_client_properties(path: Path, *, trusted: bool = True) -> ClientProperties:
    """Returns the content of the file. It may read other secrets, such as from config providers, only if it is
    `trusted`.

    It is trusted if the user named it, or trusts the inventory that names it. Raises UsageError if the file cannot be
    read, InvalidFileError with all mistakes and their places.

    From now on the process leaves no core dump, which would contain the passwords and keys of the file.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    raw = read_properties(path)
    if not trusted and (problems := tuple(foreign_secrets(raw, path))):
        raise InvalidFileError(problems)
    values, notes = resolved(raw, path)
    reading = PropertiesReading(path, values)
    reading.problems.extend(key_problems(values, path))
    _check_addresses(reading)
    security = _security(reading)
    access = _zookeeper_access(reading)
    if reading.problems:
        # An unresolved reference may be why a value is refused.
        raise InvalidFileError((*reading.problems, *notes))
    return ClientProperties(
        security,
        reading.get("bootstrap.servers"),
        reading.get("zookeeper.connect"),
        (*notes, *key_notes(values, path)),
        access,
    )


def _check_addresses(reading: PropertiesReading) -> None:
    """Checks addresses from config providers here: users of an address show it, and the mistakes in it."""
    for key in ("bootstrap.servers", "zookeeper.connect"):
        address = reading.values.get(key, NONE)
        if address.hidden and parse_endpoints(address.value.partition("/")[0])[1]:
            reading.problem("is not HOST:PORT", key)


def load_security(path: Path | None) -> Security:
    return Security() if path is None else load_client_properties(path).security


def _security(reading: PropertiesReading) -> Security:
    protocol = reading.get("security.protocol", default="PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        reading.problem(
            f"security.protocol must be one of {', '.join(PROTOCOLS)}, not {protocol!r}", "security.protocol"
        )
        return Security()
    tls = Tls()
    if protocol.endswith("SSL"):
        from kfix.core.properties.tls import read_tls  # noqa: PLC0415 - only a cluster with TLS needs it

        tls = read_tls(reading)
    if protocol.startswith("SASL"):
        from kfix.core.properties.sasl import read_sasl  # noqa: PLC0415 - only a cluster with SASL needs it

        return read_sasl(reading, protocol, tls)
    return Security(protocol, tls=tls)


def _zookeeper_access(reading: PropertiesReading) -> ZooKeeperAccess:
    if not any(key.startswith(OF_ZOOKEEPER) for key in reading.values):
        return ZooKeeperAccess()
    from kfix.core.properties.zookeeper import read_access  # noqa: PLC0415 - only a secured ZooKeeper needs it

    return read_access(reading)
