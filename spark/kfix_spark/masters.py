"""Parses a master URL and checks that the master answers, before Spark waits a minute for it."""

import os
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

from kfix.core.errors import UnreachableError, UsageError

SUBMITTED: Final = "submit"
_LOCAL: Final = re.compile(r"local(\[(\*|[1-9]\d{0,3})(,[1-9]\d{0,2})?\])?")
_ANSWERS_WITHIN: Final = 5.0
_LOOPBACK: Final = ("127.", "localhost", "[::1]", "::1")
_WAYS: Final = "local[*], local[2], spark://HOST:PORT, yarn, k8s://URL, sc://HOST:PORT, or submit under spark-submit"


def check(master: str, env: Mapping[str, str] = os.environ) -> None:
    """Raises UsageError if the text is not a master, UnreachableError if none of its hosts answers."""
    if master == SUBMITTED:
        if "PYSPARK_GATEWAY_PORT" not in env:
            raise UsageError("submit: this process was not started by spark-submit", hint=f"name a master: {_WAYS}")
        return
    if _LOCAL.fullmatch(master) or re.fullmatch(r"k8s://\S+", master):
        return
    if master == "yarn":
        if not (env.get("HADOOP_CONF_DIR") or env.get("YARN_CONF_DIR")):
            raise UsageError("yarn: HADOOP_CONF_DIR is not set", hint="set it to the folder with the site's *-site.xml")
        return
    if not master.startswith(("spark://", "sc://")):
        raise UsageError(f"{master!r} is not a Spark master", hint=f"one of {_WAYS}")
    hosts = addresses(master)
    if not any(_answers(*one) for one in hosts):
        raise UnreachableError(f"{master}: no answer", hint="check that Spark is running at this host and port")


def is_local(master: str) -> bool:
    return master.startswith("local")


def here(master: str) -> bool:
    """Returns whether the whole cluster is on this machine, so that no port needs to be open to others."""
    return is_local(master) or (
        master.startswith("spark://") and all(host.startswith(_LOOPBACK) for host, _ in addresses(master))
    )


def cores(master: str) -> int:
    """Returns the number of cores of `local[...]`."""
    found = _LOCAL.fullmatch(master)
    said = found[2] if found else None
    if said == "*":
        return os.cpu_count() or 1
    return int(said) if said else 1


def addresses(master: str) -> list[tuple[str, int]]:
    """Returns (host, port) of each address in `spark://HOST:PORT[,HOST:PORT]` or `sc://HOST[:PORT][/;options]`."""
    scheme, _, rest = master.partition("://")
    found = []
    for one in rest.partition("/")[0].split(","):
        try:
            at = urlsplit(f"//{one}")
            host, port = at.hostname or "", at.port or (15002 if scheme == "sc" else 0)
        except ValueError:
            host, port = "", 0
        if not host or not port:
            raise UsageError(f"{master!r}: {one!r} is not HOST:PORT", hint=f"expected {scheme}://HOST:PORT")
        found.append((host, port))
    return found


def _answers(host: str, port: int) -> bool:
    try:
        with closing(socket.create_connection((host, port), _ANSWERS_WITHIN)):
            return True
    except OSError:
        return False


def shown(master: str) -> str:
    """Returns the master URL without parameters, which may hold a token: `sc://HOST:PORT/;token=...`."""
    return master.partition("/;")[0]
