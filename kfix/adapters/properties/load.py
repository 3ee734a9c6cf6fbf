"""Reads the `--command-config` file of Kafka's own tools into frozen values (docs/security.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kfix.adapters.kafka.security import PROTOCOLS, Security
from kfix.adapters.properties.keys import key_notes, key_problems
from kfix.adapters.properties.parsing import read_properties
from kfix.adapters.properties.providers import resolved
from kfix.adapters.properties.reading import PropertiesReading
from kfix.adapters.tls.settings import Tls
from kfix.errors import InvalidFileError


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """`bootstrap` is the file's `bootstrap.servers`, `notes` are lines about what kfix does not use."""

    security: Security
    bootstrap: str = ""
    zookeeper: str = ""
    notes: tuple[str, ...] = ()


def load_client_properties(path: Path) -> ClientProperties:
    """Raises UsageError if the file cannot be read, InvalidFileError with all mistakes and their places."""
    values, notes = resolved(read_properties(path), path)
    reading = PropertiesReading(path, values)
    reading.problems.extend(key_problems(values, path))
    security = _security(reading)
    if reading.problems:
        raise InvalidFileError(tuple(reading.problems))
    return ClientProperties(
        security,
        reading.get("bootstrap.servers"),
        reading.get("zookeeper.connect"),
        (*notes, *key_notes(values, path)),
    )


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
        from kfix.adapters.properties.tls import read_tls  # noqa: PLC0415 - only a cluster with TLS needs it

        tls = read_tls(reading)
    if protocol.startswith("SASL"):
        from kfix.adapters.properties.sasl import read_sasl  # noqa: PLC0415 - only a cluster with SASL needs it

        return read_sasl(reading, protocol, tls)
    return Security(protocol, tls=tls)
