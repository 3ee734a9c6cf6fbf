"""The certificate that a server has shown in a TLS session that is open."""

import socket
import sys

from kfix.core.snapshot.fleet_facts import Certificate


def certificate_of(line: socket.socket | None) -> Certificate | None:
    """Returns the certificate of the other end; None if the session is not one of TLS."""
    ssl = sys.modules.get("ssl")  # Loaded by the users of TLS.
    shown = line.getpeercert() if ssl is not None and isinstance(line, ssl.SSLSocket) else None
    if not shown:
        return None
    until = int(ssl.cert_time_to_seconds(str(shown["notAfter"])) * 1000)  # type: ignore[union-attr]
    return Certificate(until, _name(shown.get("subject", ())), _name(shown.get("issuer", ())))


def _name(parts: object) -> str:
    """Returns `commonName=broker-1, organizationName=...` of the tuples in which Python has a name."""
    rows = parts if isinstance(parts, tuple) else ()
    return ", ".join(f"{key}={value}" for row in rows for key, value in row)
