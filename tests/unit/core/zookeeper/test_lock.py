"""The lock of a cluster: it is held as long as ZooKeeper shows this session as its owner, and at no other time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NodeExistsError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from kfix.core.errors import HeldError, UnreachableError
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.lock import ZooKeeperLock
from tests.each import for_each

OWN, OTHER = 7, 8


class Answer:
    def __init__(self, value: object) -> None:
        self._value = value

    def get(self, timeout: float) -> object:
        assert timeout > 0
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


class Client:
    """A session of kazoo; `owner` is that of the lock's node, None if there is no node."""

    def __init__(self, owner: object = None, state: str = KazooState.CONNECTED, sync: object = None) -> None:
        self.client_id, self.state = (OWN, b""), state
        self.created: list[tuple[str, dict[str, Any]]] = []
        self._owner, self._sync = owner, sync

    def sync_async(self, _path: str) -> Answer:
        return Answer(self._sync)

    def exists_async(self, _path: str) -> Answer:
        odd = self._owner is None or isinstance(self._owner, Exception)
        return Answer(self._owner if odd else SimpleNamespace(ephemeralOwner=self._owner))

    def get_async(self, _path: str) -> Answer:
        return Answer((b'{"user": "ann", "host": "h"}', SimpleNamespace(ephemeralOwner=self._owner)))

    def create_async(self, path: str, _data: bytes, **options: Any) -> Answer:
        self.created.append((path, options))
        return Answer(NodeExistsError() if self._owner is not None and path.endswith("/lock") else path)


def lock_of(client: Client) -> ZooKeeperLock:
    lock = ZooKeeperLock(parse_connect("a:1,b:2/x"), "mine", timeout=0.5)
    lock._client, lock._session = client, OWN
    return lock


@for_each(
    ("client", "held"),
    [
        (Client(OWN), True),
        (Client(OTHER), False),
        (Client(None), False),
        (Client(0), False),
        (Client(OWN, KazooState.LOST), False),
        (Client(OWN, KazooState.SUSPENDED), False),
        (Client(KazooTimeoutError()), False),
        (Client(SessionExpiredError()), False),
        (Client(OWN, sync=KazooTimeoutError()), False),
        (Client(OWN, sync=SessionExpiredError()), False),
    ],
)
def test_only_this_session_as_the_owner_of_the_node_means_that_the_lock_is_held(client: Client, held: bool) -> None:
    assert lock_of(client).held() is held


def test_the_node_goes_with_the_session_and_its_folder_stays() -> None:
    client = Client()
    lock_of(client)._make(client, b"")
    assert client.created == [("/x/kfix", {}), ("/x/kfix/lock", {"ephemeral": True})]


@pytest.mark.parametrize("owner", [OTHER, OWN])
def test_a_node_of_another_session_is_held_by_its_user(owner: int) -> None:
    client = Client(owner)
    if owner == OWN:
        lock_of(client)._make(client, b"")
        return
    with pytest.raises(HeldError, match="ann"):
        lock_of(client)._make(client, b"")


@for_each(
    ("shown", "servers"),
    [([True, True], ""), ([True, None], ""), ([None, None], ""), ([True, False], "b:2"), ([False, True], "a:1")],
)
def test_a_server_that_has_caught_up_and_does_not_show_the_lock_is_named(
    monkeypatch: pytest.MonkeyPatch, shown: list[bool | None], servers: str
) -> None:
    """None: the server does not answer, which proves nothing."""
    answers = iter(shown)

    def shown_by(*_: object) -> bool:
        answer = next(answers)
        if answer is None:
            raise UnreachableError("no answer")
        return answer

    monkeypatch.setattr(ZooKeeperLock, "_shown_by", shown_by)
    lock = lock_of(Client(OWN))
    if not servers:
        lock._confirm()
        return
    with pytest.raises(UnreachableError, match=f"{servers} does not show it, so the servers are not one ensemble"):
        lock._confirm()
