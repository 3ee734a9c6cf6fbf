"""Who holds a lock: a process, its host and user, and since when."""

import getpass
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock. `since` is in seconds since the epoch."""

    pid: int
    host: str
    user: str
    since: float

    @property
    def words(self) -> str:
        began = datetime.fromtimestamp(self.since, UTC)
        return f"process {self.pid} of {self.user} on {self.host} since {began:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def is_gone(self) -> bool:
        """Whether it is known that the process has ended; of another host nothing is known."""
        if self.host != platform.node() or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


def this_process() -> Holder:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no name for this user id, as in some containers
        user = f"user {os.getuid()}"
    return Holder(os.getpid(), platform.node(), user, datetime.now(UTC).timestamp())
