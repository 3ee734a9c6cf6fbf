"""The servers that log clients in, as processes of the lab: an identity provider, and a KDC."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.core.private import write_private
from kfix.lab.definition.realm import (
    REALM,
    client_principal,
    database_of,
    kdc_conf,
    keytab_of,
    krb5_conf,
    node_principal,
    realm_files,
)
from kfix.lab.definition.state import folder_of
from kfix.lab.definition.store import private
from kfix.lab.process.host import LOOPBACK, program
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.nodes import Nodes


# The identity provider of a lab with OAUTHBEARER, as a process of the lab.

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


# The Kerberos server (KDC) of a lab with GSSAPI: MIT's, as Debian has it, as a process of the lab.
#
# Its database, its keys and its keytabs are in the lab's folder, and nothing of the machine's own Kerberos is read.

ROLE = "kdc"
_PACKAGE = "MIT Kerberos's server (Debian: krb5-kdc, krb5-admin-server and krb5-user)"


def make_realm(state: LabState) -> None:
    """Makes the database of the realm, with the principals and keytabs of the nodes and of the lab's client."""
    for file, text in realm_files(state).items():
        write_private(file, text.encode())
    private(database_of(state))
    # The password of the database is typed twice, as a person would: an argument is seen by every user.
    _run(state, "kdb5_util", ("create", "-s", "-r", REALM), [state.secret] * 2)
    add_principal(state, node_principal(), "node")
    add_principal(state, client_principal(), "client")


def add_principal(state: LabState, principal: str, keytab: str, *options: str) -> None:
    """Makes a principal with a random key, and the keytab with it."""
    words = " ".join(options)
    administer(state, f"addprinc {words} -randkey {principal}", f"ktadd -k {keytab_of(state, keytab)} {principal}")
    keytab_of(state, keytab).chmod(0o600)


def administer(state: LabState, *lines: str) -> None:
    """Gives lines to the administrator's tool of the realm. Raises LabError."""
    _run(state, "kadmin.local", ("-r", REALM), lines)


def start_kdc(nodes: Nodes, state: LabState) -> None:
    """Returns when it answers. `down` ends it with everything else."""
    words = [f"{name}={value}" for name, value in variables(state).items()]
    # krb5kdc ignores operands: the last one is the tag by which the lab finds its processes.
    command = [_program("krb5kdc"), "-n", "-r", REALM, "-P", str(database_of(state) / "kdc.pid"), "--"]
    nodes.spawn(ROLE, 1, [program("env", "coreutils"), *words, *command, f"kfix.lab.id={state.id}"])
    wait_for("the KDC answers", lambda: listens(state.kdc_port or 0), _SECONDS)


def variables(state: LabState) -> Mapping[str, str]:
    """Returns the environment of the tools of this realm."""
    return {"KRB5_CONFIG": str(krb5_conf(state)), "KRB5_KDC_PROFILE": str(kdc_conf(state))}


def _program(name: str) -> str:
    # Debian puts servers where the PATH of a user does not lead.
    before = os.environ.get("PATH", os.defpath)
    for folder in (*before.split(os.pathsep), "/usr/sbin", "/sbin"):
        if os.access(os.path.join(folder, name), os.X_OK):  # noqa: PTH118 - the folder may be empty
            return os.path.join(folder, name)  # noqa: PTH118
    return program(name, _PACKAGE)


def _run(state: LabState, tool: str, words: Sequence[str], lines: Sequence[str]) -> None:
    done = subprocess.run(
        [_program(tool), *words],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        env={**os.environ, **variables(state)},
    )
    # kadmin.local ends with 0 whatever its lines came to.
    said = [line for line in done.stderr.splitlines() if "while " in line]
    if done.returncode or said:
        raise LabError(f"{tool} failed: {said[-1] if said else 'it named no reason'}")
