"""The clock of a ZooKeeper server: the four-letter word `cons` shows when the server accepted a session of kfix.

A znode carries the time of the server that wrote it, so its age is right only as far as the clocks agree. A server that
allows `cons` (`4lw.commands.whitelist`) shows by how much they differ, and the times are read by this host's clock
(docs/adr/040). ZooKeeper 3.5 and newer allow only `srvr` by default: then the difference stays unknown.
"""

from __future__ import annotations

import re

from kfix.core.deadline import Deadline
from kfix.core.errors import UnreachableError
from kfix.core.timing import clocks_apart
from kfix.core.zookeeper.wire import ZooKeeperLine, four_letter_word

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
