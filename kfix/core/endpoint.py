"""Parses HOST:PORT addresses, opens connections, and puts connection errors into plain words."""

import errno
import os
import re
import socket
import sys
from dataclasses import dataclass
from typing import Final

from kfix.core.snapshot.snapshot import Endpoint

# RFC 1123, plus underscores, which Kafka's own clients also accept.
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_NOT_OF_A_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME: Final = 253
_IPV6: Final = re.compile(r"([0-9A-Fa-f:.]+)(%[A-Za-z0-9_.-]+)?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
#: The error of a server that was not asked because this process may open no further file.
OWN_LIMIT: Final = "not asked: kfix has too many open files, raise the limit (ulimit -n)"


@dataclass(frozen=True, slots=True)
class AddressFault:
    """The error in one part of a list of addresses; `column` counts from 1 over the whole list."""

    part: str
    column: int
    why: str

    def __str__(self) -> str:
        return f"{self.part!r} is not HOST:PORT: {self.why} (column {self.column})"


def parse_endpoint(text: str) -> Endpoint | None:
    """Returns the address, or None if `text` is not HOST:PORT, IPV4:PORT or [IPV6]:PORT."""
    found = _read(text)
    return found if isinstance(found, Endpoint) else None


def parse_endpoints(text: str) -> tuple[tuple[Endpoint, ...], tuple[AddressFault, ...]]:
    """Returns the addresses of a comma-separated list, and the error of each invalid or empty part.

    Spaces around a part are ignored.
    """
    endpoints, faults, begin = list[Endpoint](), list[AddressFault](), 0
    for part in text.split(","):
        at = begin + len(part) - len(part.lstrip()) + 1
        found = _read(part.strip())
        if isinstance(found, Endpoint):
            endpoints.append(found)
        else:
            faults.append(AddressFault(part.strip(), at + found[0], found[1]))
        begin += len(part) + 1
    return tuple(endpoints), tuple(faults)


def _read(text: str) -> Endpoint | tuple[int, str]:
    """Returns the address, or (position of the error in `text`, error)."""
    if not text:
        return 0, "it is empty; one comma separates two addresses"
    if space := re.search(r"\s", text):
        return space.start(), "it contains a space; separate addresses by commas"
    if text.startswith("["):
        return _bracketed(text)
    host, colon, port = text.rpartition(":")
    if not colon:
        return len(text), "the port is missing"
    if ":" in host and _IPV6.fullmatch(host):
        return 0, "an IPv6 address needs brackets, as in [::1]:9092"
    fault = _name_fault(host) or _port_fault(port, len(host) + 1)
    return fault or Endpoint(host, int(port))


def _bracketed(text: str) -> Endpoint | tuple[int, str]:
    inside, closing, rest = text[1:].partition("]")
    if not closing:
        return len(text), "the bracket is not closed"
    if not inside:
        return 1, "the brackets are empty"
    if not _is_ipv6(inside):
        return 1, "the text in brackets is not an IPv6 address"
    if not rest.startswith(":"):
        return len(
            inside
        ) + 2, "the port is missing" if not rest else "only a colon and the port may follow the bracket"
    return _port_fault(rest[1:], len(inside) + 3) or Endpoint(inside, int(rest[1:]))


def _is_ipv6(text: str) -> bool:
    match = _IPV6.fullmatch(text)
    if match is None:
        return False
    try:
        socket.inet_pton(socket.AF_INET6, match[1])
    except OSError:
        return False
    return True


def _name_fault(host: str) -> tuple[int, str] | None:
    if not host:
        return 0, "the host is missing"
    if odd := _NOT_OF_A_NAME.search(host):
        return odd.start(), f"{odd[0]!r} is not allowed in a host name"
    if len(host) > _LONGEST_NAME:
        return _LONGEST_NAME, f"a host name has at most {_LONGEST_NAME} characters"
    # One dot at the end makes a name absolute.
    labels, at = host.removesuffix(".").split("."), 0
    for label in labels:
        if not _LABEL.fullmatch(label):
            return at, "each part of a host name has 1 to 63 characters and no hyphen at either end"
        at += len(label) + 1
    if labels[-1].isdigit() and not _is_ipv4(host):
        return 0, "it is not an IPv4 address, and a host name cannot end in a number"
    return None


def _is_ipv4(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET, text)
    except OSError:
        return False
    return True


def _port_fault(port: str, at: int) -> tuple[int, str] | None:
    if not port:
        return at, "the port is missing"
    if not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        return at, "a port is a number from 1 to 65535"
    return None


def connected(endpoint: Endpoint, timeout: float) -> socket.socket:
    """Returns an open connection. Raises OSError or UnicodeError, also for an address that a socket does not accept."""
    try:
        return socket.create_connection((endpoint.host, endpoint.port), timeout=timeout)
    except UnicodeError:
        raise
    except (ValueError, OverflowError) as error:
        raise OSError(f"not an address: {error}") from None


def plain_reason(error: OSError | UnicodeError) -> str:
    """Returns the reason of a failed connection in plain words, without the errno."""
    if isinstance(error, TimeoutError):
        return "connection or response timed out"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused, nothing listens there"
    if _is_out_of_files(error):
        return OWN_LIMIT
    # An invalid name, such as one with an empty part, raises UnicodeError in Python's idna codec.
    if isinstance(error, socket.gaierror | UnicodeError):
        return "the host name cannot be resolved"
    ssl = sys.modules.get("ssl")  # Loaded by the users of TLS (kfix.core.tls.settings).
    if ssl is not None and isinstance(error, ssl.SSLError):
        from kfix.core.tls.reasons import tls_reason  # noqa: PLC0415 - imports ssl

        return tls_reason(error)
    return (error.strerror or str(error)).lower()


def _is_out_of_files(error: OSError | UnicodeError) -> bool:
    """Returns whether this process may open no further file, which the resolver reports as an unknown name."""
    if isinstance(error, socket.gaierror):
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as full:
            error = full
    return isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}
