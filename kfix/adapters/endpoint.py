"""HOST:PORT, as every option and every setting writes it, and why a connection to one failed, in plain words."""

from __future__ import annotations

import socket
import ssl

from kfix.model.snapshot import Endpoint


def parse_endpoint(text: str) -> Endpoint | None:
    """None where it is not HOST:PORT; [::1]:9092 is taken as well."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or len(port) > 5 or not 0 < int(port) < 65536:
        return None
    return Endpoint(host.strip("[]"), int(port))


def connected(endpoint: Endpoint, timeout: float) -> socket.socket:
    """An open connection. OSError where there is none, or UnicodeError; also for an address that no socket takes."""
    try:
        return socket.create_connection((endpoint.host, endpoint.port), timeout=timeout)
    except UnicodeError:
        raise
    except (ValueError, OverflowError) as error:
        raise OSError(f"not an address: {error}") from None


def plain_reason(error: OSError | UnicodeError) -> str:
    """The reason in an operator's words, without Python's errno decoration."""
    if isinstance(error, TimeoutError):
        return "accepts no connection or does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused, nothing listens there"
    # A name that DNS cannot even be asked for, such as one with an empty part, is a UnicodeError of Python's idna.
    if isinstance(error, socket.gaierror | UnicodeError):
        return "the host name cannot be resolved"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    return (error.strerror or str(error)).lower()
