"""The servers of an ensemble in their own words: the four-letter word `srvr`, one server at a time."""

import re

from kfix.core.errors import UnreachableError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import SRVR_REFUSED, Endpoint, ZooKeeperNode
from kfix.core.timing import Deadline, clocks_apart
from kfix.core.zookeeper.access import OPEN, ZooKeeperAccess
from kfix.core.zookeeper.wire import ZooKeeperLine, four_letter_word

# The clock of a ZooKeeper server: the four-letter word `cons` shows when the server accepted a session of kfix.
#
# A znode carries the time of the server that wrote it, so its age is right only as far as the clocks agree. A server
# that allows `cons` (`4lw.commands.whitelist`) shows by how much they differ, and the times are read by this host's
# clock (docs/adr/040). ZooKeeper 3.5 and newer allow only `srvr` by default: then the difference stays unknown.

#: `cons` is answered at once or not at all.
_SECONDS = 0.5
_LONGEST_STAMP = 15


def clock_ahead(line: ZooKeeperLine, deadline: Deadline) -> int | None:
    """Returns the seconds by which this host's clock is ahead of the server's; 0 if they agree, None if unknown."""
    try:
        text = four_letter_word(line.endpoint, b"cons", deadline.within(_SECONDS), line.ledger, line.access)
    except UnreachableError:
        return None
    own = f"[(,]sid=0x{line.session & (1 << 64) - 1:x},"
    found = re.search(rf"{own}[^)\n]*?\best=([0-9]{{1,{_LONGEST_STAMP}}})[,)]", text)
    if found is None:
        return None
    return clocks_apart(line.opened_at - int(found[1]) / 1000)


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
