"""Free ports below the ephemeral range: in it a listener may fail to bind, and a client may connect to itself."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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
