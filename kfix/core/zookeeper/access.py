"""The security and authentication of a ZooKeeper session: one frozen value for both readers (docs/security.md)."""

import socket
import struct
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol

from kfix.core.endpoint import connected, plain_reason
from kfix.core.errors import UnreachableError
from kfix.core.extras import install
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
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


# Logs a session in: the scheme digest, and SASL DIGEST-MD5 as Kafka's brokers do with a JAAS section `Client`.
#
# Source: jute records `AuthPacket` and `GetSASLRequest` of ZooKeeper 3.5 to 3.9. ZooKeeper refuses no password of the
# scheme digest: a wrong one is another identity, which lacks the rights. With SASL it refuses, and ends the session.

#: What kazoo and this reader need for SASL.
EXTRA = install("zookeeper-sasl")
MECHANISM = "DIGEST-MD5"
_AUTH, _SASL = 100, 102
_AUTH_XID = -4
_HEADER = struct.Struct(">ii")
_REPLY = struct.Struct(">iqi")
_LENGTH = struct.Struct(">i")
_MOST_ROUNDS = 4


class Session(Protocol):
    """The part of a session that a login needs; `ended` is whether the server has closed its connection."""

    endpoint: Endpoint
    access: ZooKeeperAccess
    ended: bool

    def xids(self, count: int) -> int: ...

    def send(self, data: bytes, deadline: Deadline) -> None: ...

    def frame(self, deadline: Deadline) -> bytes: ...


def has_sasl() -> bool:
    return find_spec("puresasl") is not None


def log_in(line: Session, deadline: Deadline) -> None:
    """Raises UnreachableError if the server refuses it."""
    access = line.access
    if access.sasl is not None:
        _sasl(line, *access.sasl, deadline)
    if access.digest:
        user = access.digest.partition(":")[0]
        body = _HEADER.pack(_AUTH_XID, _AUTH) + _LENGTH.pack(0) + _blob(b"digest") + _blob(access.digest.encode())
        _asked(line, body, _AUTH_XID, f"user {user!r} of the scheme digest", deadline)


def _sasl(line: Session, user: str, password: str, deadline: Deadline) -> None:
    from puresasl import SASLError, SASLProtocolException  # noqa: PLC0415 - only ZooKeeper with SASL needs it
    from puresasl.client import SASLClient  # noqa: PLC0415

    who = f"user {user!r} of SASL {MECHANISM}"
    # The host is a fixed one: org.apache.zookeeper.util.SecurityUtils.
    client = SASLClient("zk-sasl-md5", "zookeeper", MECHANISM, username=user, password=password, qops=(b"auth",))
    challenge: bytes | None = None
    for _ in range(_MOST_ROUNDS):
        try:
            token = client.process(challenge)
        except (SASLError, SASLProtocolException, KeyError, ValueError, TypeError):
            raise _refused(line, who, "its challenge cannot be answered; it may not offer this mechanism") from None
        if client.complete and not token:
            return
        xid = line.xids(1)
        challenge = _asked(line, _HEADER.pack(xid, _SASL) + _blob(token or b""), xid, who, deadline)
    raise _refused(line, who, "it keeps asking")


def _asked(line: Session, body: bytes, xid: int, who: str, deadline: Deadline) -> bytes:
    """Sends a request and returns the token of the response, empty if it has none."""
    line.send(_LENGTH.pack(len(body)) + body, deadline)
    try:
        answer = line.frame(deadline)
    except UnreachableError:
        # A server that refuses may close the connection without a response.
        if line.ended:
            raise _refused(line, who) from None
        raise
    if len(answer) < _REPLY.size or _REPLY.unpack_from(answer)[0] != xid:
        raise _refused(line, who, "it answered another request")
    if _REPLY.unpack_from(answer)[2]:
        raise _refused(line, who)
    if len(answer) < _REPLY.size + _LENGTH.size:
        return b""
    size = _LENGTH.unpack_from(answer, _REPLY.size)[0]
    return answer[_REPLY.size + _LENGTH.size :][: max(0, size)]


def _refused(line: Session, who: str, why: str = "") -> UnreachableError:
    text = f"zookeeper {line.endpoint}: authentication refused for {who}"
    return UnreachableError(f"{text}: {why or 'check zookeeper.auth.* and zookeeper.sasl.* (--command-config)'}")


def _blob(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data
