"""Where the token of OAUTHBEARER comes from, as a frozen value (RFC 7628, RFC 6749)."""

from __future__ import annotations

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
    """One of four sources: `claims` of an unsecured token, `file` with a token, `endpoint`, where the client's id and
    secret are exchanged for one, or `aws`. `lifetime` (seconds) is that of an unsecured token. `extensions` are sent to
    the broker with the token. `tls` is how the endpoint is judged.
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
        """Who the token is for, as far as the settings name it."""
        return str(dict(self.claims).get("sub", "")) or self.client_id
