"""The servers of an ensemble in their own words: the four-letter word `srvr`, one server at a time."""

from __future__ import annotations

from kfix.core.deadline import Deadline
from kfix.core.errors import UnreachableError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import SRVR_REFUSED, Endpoint, ZooKeeperNode
from kfix.core.zookeeper.access import OPEN, ZooKeeperAccess
from kfix.core.zookeeper.wire import four_letter_word

#: A healthy server answers `srvr` at once. A hung one must not use up the time that the brokers need.
_PROBE_SECONDS = 1.0


def probe_node(
    server: Endpoint, deadline: Deadline, ledger: Ledger | None = None, access: ZooKeeperAccess = OPEN
) -> ZooKeeperNode:
    within = deadline.within(min(_PROBE_SECONDS, deadline.left / 3))
    try:
        text = four_letter_word(server, b"srvr", within, ledger, access)
    except UnreachableError as error:
        return ZooKeeperNode(str(server), "", str(error))
    if "not currently serving" in text:
        return ZooKeeperNode(str(server), "no quorum", "not currently serving requests")
    mode, zxid = _field(text, "Mode: "), _field(text, "Zxid: 0x")
    return ZooKeeperNode(
        str(server), mode, "" if mode else f"srvr is {SRVR_REFUSED} there", _hexadecimal(zxid) if mode else -1
    )


def _field(text: str, key: str) -> str:
    return next((line[len(key) :].strip() for line in text.splitlines() if line.startswith(key)), "")


def _hexadecimal(text: str) -> int:
    """Returns the zxid, or -1 if the text is not a number of 64 bits."""
    return int(text, 16) if text and len(text) <= 16 and set(text) <= set("0123456789abcdef") else -1
