"""Where processes of a lab run: on the loopback interface, or in a zone, which has an address and a command prefix."""

import os
import secrets
import shutil
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from kfix.core.errors import LabError
from kfix.lab.process.processes import read_stat

# Free ports below the ephemeral range: in it a listener may fail to bind, and a client may connect to itself.

LOWEST = 12_000
HIGHEST = 32_767


def highest_port(range_file: Path = Path("/proc/sys/net/ipv4/ip_local_port_range")) -> int:
    try:
        ephemeral_from = int(range_file.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return HIGHEST
    # An ephemeral range that starts very low leaves no room below it: then it cannot be avoided.
    return min(HIGHEST, ephemeral_from - 1) if ephemeral_from > LOWEST + 1_000 else HIGHEST


def free_ports(count: int, taken: Collection[int], can_bind: Callable[[int], bool]) -> tuple[int, ...]:
    """Returns ports that are free now. `taken` are the ports of all labs, those of dead brokers too."""
    top = highest_port()
    span = top - LOWEST + 1
    start = secrets.randbelow(span)
    chosen: list[int] = []
    for step in range(span):
        if len(chosen) == count:
            break
        port = LOWEST + (start + step) % span
        if port not in taken and can_bind(port):
            chosen.append(port)
    if len(chosen) < count:
        raise LabError(
            f"no {count} free ports between {LOWEST} and {top}", hint="kfix lab down --all frees those of old labs"
        )
    return tuple(chosen)


SASL_VARIABLE = "KFIX_LAB_SASL"  # it holds a password, which no process of the lab needs


@dataclass(frozen=True)
class Host:
    address: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()

    def spawn(self, command: Sequence[str], log: Path) -> tuple[int, int]:
        """Starts a process in a session of its own, which Ctrl-C does not reach. Returns its pid and its start time."""
        prefix = (program(self.prefix[0], "iproute2"), *self.prefix[1:]) if self.prefix else ()
        # `ip netns exec` becomes the command itself: the pid stays.
        argv = [*prefix, *command]
        pid = os.posix_spawn(
            argv[0],
            argv,
            {name: value for name, value in os.environ.items() if name != SASL_VARIABLE},
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )
        stat = read_stat(pid)
        if stat is None:
            raise LabError(f"{command[0]} ended immediately", hint=f"see {log}")
        return pid, stat.start

    def can_bind(self, port: int) -> bool:
        with socket.socket() as probe:
            try:
                probe.bind((self.address, port))
            except OSError:
                return False
        return True


LOOPBACK = Host()


def program(name: str, install: str) -> str:
    """Returns the full path of a program. Raises LabError if it is not installed; `install` names the package."""
    home = os.environ.get("JAVA_HOME", "")
    found = (shutil.which(name, path=f"{home}/bin") if name == "java" and home else None) or shutil.which(name)
    if found is None:
        raise LabError(f"the lab needs {name}, which is not on the PATH", hint=f"install {install}")
    return found
