"""The security and authentication of a ZooKeeper session: one frozen value for both readers (docs/security.md)."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass, field

from kfix.core.endpoint import connected, plain_reason
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.tls.settings import Tls, context_of

#: The prefix of the keys of ZooKeeper's TLS, and the key that turns it on.
TLS_KEYS, TLS_SWITCH = "zookeeper.ssl.", "zookeeper.ssl.client.enable"

#: ZooKeeper refuses no password of this scheme.
_DIGEST = "digest, where a wrong password is another identity"
#: ZooKeeper's permission for each verb of a refused request.
_PERMISSIONS = {"read": "READ", "write": "CREATE", "delete": "DELETE"}


@dataclass(frozen=True, slots=True)
class ZooKeeperAccess:
    """`tls` is None for plain text; `digest` is USER:PASSWORD of the scheme digest, `sasl` is (user, password) of
    DIGEST-MD5.

    No secret enters a repr.
    """

    tls: Tls | None = None
    digest: str = field(default="", repr=False)
    sasl: tuple[str, str] | None = field(default=None, repr=False)

    def open(self, endpoint: Endpoint, timeout: float, name: str = "") -> socket.socket:
        """Returns an open connection; `name` is the server's in its certificate, if it is not the endpoint's.

        Raises OSError, also for a failed TLS handshake, or UnicodeError.
        """
        plain = connected(endpoint, timeout)
        if self.tls is None:
            return plain
        try:
            return context_of(self.tls).wrap_socket(plain, server_hostname=name or endpoint.host)
        except BaseException:
            plain.close()
            raise

    def reason(self, error: OSError | UnicodeError) -> str:
        """Returns the reason of a failed connection in plain words."""
        ssl = sys.modules.get("ssl")  # Loaded by the users of TLS.
        if ssl is not None and isinstance(error, ssl.SSLError):
            from kfix.core.tls.reasons import tls_reason  # noqa: PLC0415 - imports ssl

            return tls_reason(error, TLS_KEYS, TLS_SWITCH, own=self.tls is None or bool(self.tls.chain))
        return plain_reason(error)

    @property
    def logs_in(self) -> bool:
        return bool(self.digest) or self.sasl is not None

    @property
    def closed_at_once(self) -> str:
        """Returns why a server may close a connection before its first response."""
        tls = "" if self.tls else f"requires TLS ({TLS_SWITCH}=true), "
        return f"it {tls}has no quorum, or is not ZooKeeper"

    def not_allowed(self, verb: str, path: str) -> str:
        """Returns the sentence about a missing right: `verb` is the operation that the znode's ACL does not permit."""
        ways = {"a certificate": self.tls and self.tls.chain, "SASL": self.sasl, _DIGEST: self.digest}
        used = " and ".join(way for way, given in ways.items() if given)
        return (
            f"not allowed to {verb} {path}: ZooKeeper's ACL does not grant {_PERMISSIONS[verb]} to "
            f"{f'this client (it used {used})' if used else 'a client without authentication'}; "
            "authenticate as the brokers do (zookeeper.* in --command-config, docs/security.md)"
        )


OPEN = ZooKeeperAccess()
