"""The clock of a server is read where it shows when it accepted the session of this very reading."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.zookeeper.access import OPEN
from kfix.core.zookeeper.servers import clock_ahead
from tests.each import for_each
from tests.waiting import seconds

OPENED = 1_800_000_000.25
OTHER = " /10.0.0.1:41[1](queued=0,recved=1,sent=1,sid=0x77,lop=PING,est=1600000000000,to=4000)\n"


@contextmanager
def answering(text: str) -> Iterator[Any]:
    """A session of a server that answers one four-letter word with this text."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                assert line.recv(4) == b"cons"
                line.sendall(text.encode())

        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = Endpoint("127.0.0.1", server.getsockname()[1])
        yield SimpleNamespace(endpoint=endpoint, session=-0x7, opened_at=OPENED, ledger=Ledger(), access=OPEN)
        thread.join(seconds(5))


def own(est: str, sid: str = "fffffffffffffff9") -> str:
    return f" /10.0.0.2:42[1](queued=0,recved=9,sent=9,sid=0x{sid},lop=GETD,est={est},to=30000,lcxid=0x1)\n"


@for_each(
    ("text", "ahead"),
    [
        (OTHER + own(f"{int(OPENED * 1000)}"), 0),
        (OTHER + own(f"{int(OPENED * 1000) - 1_999}"), 0),
        (OTHER + own(f"{int(OPENED * 1000) - 3_600_100}"), 3600),
        (OTHER + own(f"{int(OPENED * 1000) + 3_600_100}"), -3600),
        (OTHER, None),
        (OTHER + own("1", sid="fffffffffffffff"), None),
        (OTHER + own("9" * 16), None),
        (OTHER + own("x"), None),
        ("cons is not executed because it is not in the whitelist.\n", None),
        ("", None),
    ],
)
def test_the_clocks_differ_by_what_the_server_shows_for_this_session(text: str, ahead: int | None) -> None:
    with answering(text) as line:
        assert clock_ahead(line, Deadline.after(5)) == ahead


def test_a_server_that_does_not_answer_leaves_the_difference_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = Endpoint("127.0.0.1", server.getsockname()[1])
    line: Any = SimpleNamespace(endpoint=gone, session=1, opened_at=OPENED, ledger=Ledger(), access=OPEN)
    assert clock_ahead(line, Deadline.after(5)) is None
