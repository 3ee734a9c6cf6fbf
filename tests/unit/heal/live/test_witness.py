"""What a run reads from ZooKeeper is read from two servers: one that contradicts the other is not believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.wire import ZooKeeperLine
from kfix.heal.live import authority
from kfix.heal.live.authority import ZooKeeperAuthority
from tests.each import for_each

FIRST, SECOND = "a:1", "b:2"


class Line:
    """A session with a server that shows a value, or fails; its questions are counted."""

    def __init__(self, server: str, shows: object, *, read_only: bool = False) -> None:
        self.endpoint = Endpoint(server[0], int(server[-1]))
        self.shows, self.read_only, self.closed, self.asked = shows, read_only, False, 0

    def close(self) -> None:
        self.closed = True

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> object:
        self.asked += 1
        if isinstance(self.shows, Exception):
            raise self.shows
        return self.shows


Asking = Callable[[], object]


def asking(patch: pytest.MonkeyPatch, lines: Mapping[str, Line]) -> tuple[ZooKeeperAuthority, Asking]:
    """Returns an authority whose first session is with `FIRST`, and a question to it."""
    patch.setattr(authority, "ROUNDS", (0.0, 0.0))
    patch.setattr(authority, "open_line", lambda *_: lines[FIRST])
    patch.setattr(authority, "ZooKeeperLine", lambda server, *_, **__: lines[str(server)])
    found = ZooKeeperAuthority(Target((), timeout=2.0), parse_connect(f"{FIRST},{SECOND}"))

    def read(line: ZooKeeperLine, _end: Deadline) -> Any:
        assert isinstance(line, Line)
        return line.read()

    return found, lambda: found._ask(read)


@for_each(
    ("here", "there", "believed"),
    [
        (frozenset({1}), frozenset({1}), True),
        (frozenset({1}), frozenset({1, 2}), False),
        (3, 4, False),
        (None, 3, False),
        ({"t": 1}, {"t": 2}, False),
    ],
)
def test_what_two_servers_show_differently_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, here: object, there: object, believed: bool
) -> None:
    _, ask = asking(monkeypatch, {FIRST: Line(FIRST, here), SECOND: Line(SECOND, there)})
    if believed:
        assert ask() == here
        return
    with pytest.raises(UnreachableError, match="contradict each other"):
        ask()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_server_without_a_quorum_is_no_witness(monkeypatch: pytest.MonkeyPatch, read_only: bool) -> None:
    second = Line(SECOND, "other", read_only=read_only)
    found, ask = asking(monkeypatch, {FIRST: Line(FIRST, "one"), SECOND: second})
    if not read_only:
        with pytest.raises(UnreachableError, match="contradict each other"):
            ask()
        return
    assert ask() == "one"
    assert (second.asked, second.closed, found._witness) == (0, True, None)


@pytest.mark.parametrize("error", [UnreachableError("gone"), KeyboardInterrupt()])
def test_a_session_that_broke_in_an_answer_is_closed_and_not_used_again(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    broken = Line(FIRST, "one")
    found, ask = asking(monkeypatch, {FIRST: broken, SECOND: Line(SECOND, "one")})
    assert ask() == "one"

    def breaks() -> object:
        broken.asked += 1
        raise error

    broken.read = breaks  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        ask()
    assert broken.closed
    assert found._session is None
