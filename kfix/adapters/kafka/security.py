"""Client security settings: the `--command-config` file of Kafka's own tools, read once into a frozen value.

Keys are those of Kafka's Java clients (`security.protocol`, `sasl.mechanism`, `sasl.jaas.config`, `ssl.truststore.*`
with PEM files); librdkafka's names (`sasl.username`, `ssl.ca.location`, ...) are accepted, too.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

from kfix.documents.opening import read_file
from kfix.errors import InvalidFileError, UsageError
from kfix.model.cluster.client_security import ClientSecurity

#: Largest properties file, in bytes.
_LARGEST = 1 << 20
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Security:
    """Security settings. `mechanism` is "" without SASL. `password` never enters a repr, a snapshot or a journal."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    key_password: str = field(default="", repr=False)
    check_hostname: bool = True

    @property
    def recorded(self) -> ClientSecurity:
        """The settings that a plan records, without secrets."""
        return ClientSecurity(self.protocol, self.mechanism, self.username if self.mechanism else "")

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        if not self.protocol.endswith("SSL"):
            return plain
        import ssl  # noqa: PLC0415 - only a cluster with TLS needs it

        context = ssl.create_default_context(cafile=self.ca_file or None)
        if not self.check_hostname:
            context.check_hostname = False
        if self.cert_file:
            # Never None: OpenSSL would then prompt on the terminal for the password of an encrypted key.
            context.load_cert_chain(self.cert_file, self.key_file or None, self.key_password)
        return context.wrap_socket(plain, server_hostname=host)


def load_security(path: Path | None) -> Security:
    if path is None:
        return Security()
    values = read_properties(path)
    protocol = values.get("security.protocol", ("PLAINTEXT", 0))[0].upper()
    problems = []
    if protocol not in _PROTOCOLS:
        problems.append(
            f"{path}:{values['security.protocol'][1]}:1: security.protocol must be one of {', '.join(_PROTOCOLS)}, "
            f"not {protocol!r}"
        )
    mechanism = ""
    if protocol.startswith("SASL"):
        mechanism, at = _first(values, "sasl.mechanism", "sasl.mechanisms", default="GSSAPI")
        if mechanism not in _MECHANISMS:
            problems.append(
                f"{path}:{at or 1}:1: sasl.mechanism {mechanism} is not supported, use one of {', '.join(_MECHANISMS)}"
            )
    username, password = _credentials(values)
    if mechanism and not username:
        problems.append(f"{path}:1:1: {mechanism} needs sasl.jaas.config (or sasl.username and sasl.password)")
    problems += _pem_problems(path, values)
    if problems:
        raise InvalidFileError(tuple(problems))
    return Security(
        protocol=protocol,
        mechanism=mechanism,
        username=username,
        password=password,
        ca_file=_first(values, "ssl.truststore.location", "ssl.ca.location")[0],
        cert_file=_first(values, "ssl.keystore.location", "ssl.certificate.location")[0],
        key_file=_first(values, "ssl.key.location")[0],
        key_password=_first(values, "ssl.key.password")[0],
        check_hostname=values.get("ssl.endpoint.identification.algorithm", ("https", 0))[0] != "",
    )


def read_properties(path: Path) -> dict[str, tuple[str, int]]:
    """Returns {key: (value, line)} of a Java properties file: comments, `=` or `:`, trailing backslash.

    Raises UsageError if the file cannot be read, InvalidFileError if a line is not a property.
    """
    try:
        text = read_file(path, _LARGEST).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not a text file") from None
    values: dict[str, tuple[str, int]] = {}
    pending, begun = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not pending and (not line or line[0] in "#!"):
            continue
        begun = begun if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        match = re.match(r"([^=:\s]+)\s*[=:\s]\s*(.*)", pending)
        if match is None:
            raise InvalidFileError(
                (f"{path}:{begun}:1: not a property: expected KEY=VALUE (not shown, it may be a secret)",)
            )
        values[match[1]] = (match[2].strip(), begun)
        pending = ""
    return values


def _first(values: dict[str, tuple[str, int]], *keys: str, default: str = "") -> tuple[str, int]:
    return next((values[k] for k in keys if k in values), (default, 0))


def _credentials(values: dict[str, tuple[str, int]]) -> tuple[str, str]:
    found = dict(_JAAS.findall(values.get("sasl.jaas.config", ("", 0))[0]))
    plain = {k: re.sub(r"\\(.)", r"\1", v) for k, v in found.items()}
    return (
        plain.get("username", _first(values, "sasl.username")[0]),
        plain.get("password", _first(values, "sasl.password")[0]),
    )


def _pem_problems(path: Path, values: dict[str, tuple[str, int]]) -> list[str]:
    problems = []
    for kind in ("truststore", "keystore"):
        location, line = values.get(f"ssl.{kind}.location", ("", 0))
        if not location:
            continue
        if values.get(f"ssl.{kind}.type", ("PEM", 0))[0] != "PEM" or location.endswith((".jks", ".p12", ".pfx")):
            problems.append(
                f"{path}:{line}:1: {location} is not PEM; export it with keytool and openssl, "
                f"and set ssl.{kind}.type=PEM"
            )
        elif not Path(location).is_file():
            problems.append(f"{path}:{line}:1: {location} does not exist")
    return problems
