"""Sources of OAUTHBEARER's token, as frozen values (RFC 7628, RFC 6749)."""

from dataclasses import dataclass, field

from kfix.core.errors import UnreachableError
from kfix.core.tls.settings import Tls


class TokenError(UnreachableError):
    """No token could be had. The message contains neither a token nor a secret."""


Claim = str | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aws:
    """A profile of AWS's settings, or the ARN of a role to take on; with neither, the usual credentials."""

    profile: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class OAuth:
    """One of four sources: `claims` of an unsecured token, `file` with a token, `endpoint`, which exchanges the
    client's id and secret for a token, or `aws`.

    `lifetime` is an unsecured token's, in seconds. `extensions` are sent to the broker with the token. `tls` secures
    the connection to the endpoint.
    """

    claims: tuple[tuple[str, Claim], ...] = ()
    lifetime: int = 3600
    file: str = ""
    endpoint: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    quoted: bool = False
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tls: Tls = field(default_factory=Tls)
    aws: Aws | None = None

    @property
    def user(self) -> str:
        """Returns the user of the token, if the settings name it."""
        return str(dict(self.claims).get("sub", "")) or self.client_id
