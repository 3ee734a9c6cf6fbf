"""Serves `/metrics` and `/healthz` over HTTP, on loopback unless the address names another interface."""

import contextlib
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from kfix.core.endpoint import parse_endpoint, plain_reason
from kfix.core.errors import UsageError

_LOOPBACK: Final = "127.0.0.1"
_CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"
#: The longest that a request may take, from its connection to the last byte of the answer.
_SECONDS: Final = 5.0
#: Connections at once; further ones are closed.
_MOST: Final = 16


class Exporter:
    """A server in its own threads; it calls `text` for each scrape, and `works` for `/healthz`: 200 or 503.

    Raises UsageError for an invalid address, or one that cannot be bound.
    """

    def __init__(self, address: str, text: Callable[[], str], works: Callable[[], bool] = lambda: True) -> None:
        host, port = parse_listen(address)
        try:
            server = _OverIPv6 if ":" in host else _Server
            self._server = server((host, port), _handler(text, works))
        except OSError as error:
            raise UsageError(f"--exporter {address}: {plain_reason(error)}") from None
        self._server.daemon_threads = True
        bound = self._server.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{bound}/metrics"
        threading.Thread(target=self._server.serve_forever, name="kfix exporter", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Serves few connections at once, and each for a short time: a client that holds one open would block others."""

    def __init__(self, *given: Any) -> None:
        self._free = threading.BoundedSemaphore(_MOST)
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def finish_request(self, request: Any, client_address: Any) -> None:
        over = threading.Timer(_SECONDS, _cut, (request,))
        over.daemon = True
        over.start()
        try:
            with contextlib.suppress(Exception):  # A client that ends early, or is cut off, is not logged.
                super().finish_request(request, client_address)
        finally:
            over.cancel()
            self._free.release()


def _cut(request: socket.socket) -> None:
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _OverIPv6(_Server):
    address_family = socket.AF_INET6


def parse_listen(address: str) -> tuple[str, int]:
    """Returns host and port of `:PORT`, `HOST:PORT` or `[IPV6]:PORT`; `:0` is any free port.

    Raises UsageError for anything else.
    """
    port = address.rpartition(":")[2]
    if address == f":{port}" and port.isdecimal() and len(port) <= 5 and int(port) <= 65_535:
        return _LOOPBACK, int(port)
    found = parse_endpoint(address)
    if found is None:
        raise UsageError(
            f"--exporter: {address!r} is not an address to listen on",
            hint="use :9308 for this machine only, or HOST:PORT; 0.0.0.0:9308 is every interface",
        )
    return found.host, found.port


def _handler(text: Callable[[], str], works: Callable[[], bool]) -> type[BaseHTTPRequestHandler]:
    class _Scrape(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version = "kfix"
        sys_version = ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._send(200, text())
            elif path == "/healthz":
                alive = works()
                self._send(200 if alive else 503, "ok\n" if alive else "no snapshot for too long\n")
            else:
                self.send_error(404)

        def _send(self, status: int, answer: str) -> None:
            body = answer.encode()
            self.send_response(status)
            self.send_header("Content-Type", _CONTENT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing: scrapes come every few seconds."""

    return _Scrape
