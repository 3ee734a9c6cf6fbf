"""The security of a connection, as one frozen value, and the socket that follows from it."""

import socket
import sys
from dataclasses import dataclass, field

from kfix.core.endpoint import plain_reason
from kfix.core.kerberos import Kerberos
from kfix.core.oauth.settings import OAuth
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.tls.settings import Tls, context_of

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class Security:
    """Security settings. `mechanism` is "" without SASL; `oauth` is set only for OAUTHBEARER, `kerberos` only for
    GSSAPI.

    `password` never enters a repr, a snapshot or a journal.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    tls: Tls = field(default_factory=Tls)
    oauth: OAuth | None = None
    kerberos: Kerberos | None = None

    @property
    def recorded(self) -> ClientSecurity:
        """The settings that a plan records, without secrets."""
        return ClientSecurity(self.protocol, self.mechanism, self.username if self.mechanism else "")

    @property
    def principal(self) -> str:
        """Returns the principal of the client, as Kafka's default principal builder names it."""
        if self.kerberos is not None and not self.username:
            from kfix.core.kerberos import name_in_ticket  # noqa: PLC0415 - only Kerberos needs it

            return f"User:{name_in_ticket(self.kerberos)}"
        if self.mechanism:
            return f"User:{self.username}"
        if self.protocol == "SSL" and self.tls.chain:
            from kfix.core.tls.stores import subject_of  # noqa: PLC0415 - brings cryptography

            return f"User:{subject_of(self.tls.chain)}"
        return "User:ANONYMOUS"

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """Returns the secured socket. Raises ssl.SSLError, for a certificate ssl.SSLCertVerificationError."""
        if not self.protocol.endswith("SSL"):
            return plain
        return context_of(self.tls).wrap_socket(plain, server_hostname=host)

    def reason(self, error: OSError | UnicodeError) -> str:
        """Returns the reason of a failed connection in plain words."""
        ssl = sys.modules.get("ssl")  # Loaded by the users of TLS.
        if self.protocol.endswith("SSL") and ssl is not None and isinstance(error, ssl.SSLError):
            from kfix.core.tls.reasons import expired_reason, tls_reason  # noqa: PLC0415 - brings cryptography

            return expired_reason(error, self.tls) or tls_reason(error, own=bool(self.tls.chain))
        return plain_reason(error)
