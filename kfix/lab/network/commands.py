"""`ip`, `iptables` and `tc`, with a one-line error if one of them is missing, not permitted or fails."""

import os
import subprocess
from collections.abc import Sequence

from kfix.core.errors import LabError, UsageError
from kfix.lab.process.host import program

_DEBIAN = {"ip": "iproute2", "tc": "iproute2", "iptables-restore": "iptables", "iptables-save": "iptables"}
_SECONDS = 20.0


def require_rights() -> None:
    """Raises UsageError if kfix does not run as root or a program is missing, before anything is created."""
    if os.geteuid() != 0:
        raise UsageError(
            "--zones needs root: it creates network namespaces and packet filters",
            hint="run kfix as root (sudo -E kfix lab up --zones 3), or omit --zones",
        )
    for name in _DEBIAN:
        full_path(name)


def full_path(name: str) -> str:
    return program(name, f"Debian's package {_DEBIAN[name]}")


def run(command: Sequence[str], stdin: str | None = None) -> str:
    """Returns the standard output. Raises LabError with the first line of the error output if the command failed."""
    name = command[0]
    try:
        done = subprocess.run(
            [full_path(name), *command[1:]],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(command)} did not end within {_SECONDS:.0f} s") from None
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise LabError(
            f"{' '.join(command)}: {reason}",
            hint="can this machine create network namespaces? containers need NET_ADMIN",
        )
    return done.stdout


def inside(namespace: str, command: Sequence[str], stdin: str | None = None) -> str:
    return run(["ip", "netns", "exec", namespace, full_path(command[0]), *command[1:]], stdin)
