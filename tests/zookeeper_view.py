"""ZooKeeper's view as one server shows it, for tests that compare ways of reading it."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import ZooKeeperView
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import Connect, open_line
from kfix.core.zookeeper.view import Unread, view_of


def read_view(connect: Connect, protocol: str, deadline: Deadline) -> tuple[str, ZooKeeperView, Unread]:
    with open_line(connect, deadline) as line:
        return view_of(line, connect, protocol, deadline)
