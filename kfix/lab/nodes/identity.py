"""The identity provider of a lab with OAUTHBEARER, as a process of the lab."""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import TYPE_CHECKING

from kfix.lab.definition.state import folder_of
from kfix.lab.process.host import LOOPBACK
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.nodes import Nodes

_SECONDS = 20.0


def start_identity_provider(nodes: Nodes, state: LabState, port: int) -> None:
    """Returns when it answers. `down` ends it with everything else."""
    from kfix.lab.security.oidc import write_settings  # noqa: PLC0415 - brings cryptography

    settings = folder_of(state) / "oidc.json"
    user, secret = state.spec.sasl or ("", "")
    write_settings(settings, port, {user: secret})
    # The tag is an -X option: Python keeps it on the command line and ignores it otherwise.
    command = [sys.executable, "-X", f"kfix.lab.id={state.id}", "-m", "kfix.lab.security.oidc", str(settings)]
    nodes.spawn("oidc", 1, command)
    wait_for("the identity provider answers", lambda: listens(port), _SECONDS)


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK.address, port), timeout=1):
        return True
    return False
