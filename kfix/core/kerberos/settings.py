"""The source of GSSAPI's Kerberos ticket, as a frozen value: the options of Java's Krb5LoginModule."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from kfix.core.errors import UnreachableError

EXTRA = "pip install 'kafka-kfix[kerberos]'"


class KerberosError(UnreachableError):
    """No ticket is available, or the exchange failed. The message contains neither a key nor a ticket."""


@dataclass(frozen=True, slots=True)
class Kerberos:
    """`service` is the first part of the brokers' principals.

    With `uses_cache` the ticket comes from the ticket cache, the file `cache` or the user's own. Otherwise, or if the
    cache has none, it is requested for `principal` with the key in the file `keytab`. `config` replaces the krb5.conf
    of the system and of KRB5_CONFIG.
    """

    service: str = "kafka"
    principal: str = ""
    keytab: str = ""
    uses_cache: bool = False
    cache: str = ""
    config: str = ""

    def named(self, service: str) -> dict[str, str]:
        """Returns the names of a sentence about a failure; `service` is the principal of the broker."""
        cache = self.cache or "the user's ticket cache"
        return {
            "principal": self.principal or "of the ticket",
            "keytab": self.keytab,
            "cache": cache,
            "service": service,
        }

    @property
    def short_name(self) -> str:
        """Returns the client for an authorizer with Kafka's default rules, "" if only the ticket names it."""
        return short_name(self.principal)


def short_name(principal: str) -> str:
    """Returns the first part of a principal: `kfix` of `kfix/host@REALM`."""
    return principal.partition("@")[0].partition("/")[0]


def has_kerberos() -> bool:
    return find_spec("gssapi") is not None
