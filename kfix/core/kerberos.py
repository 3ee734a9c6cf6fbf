"""Tickets, and the client's half of SASL GSSAPI (RFC 4752), both by MIT's library, the extra `kerberos`."""

import itertools
import os
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from kfix.core.errors import UnreachableError
from kfix.core.extras import install

# The source of GSSAPI's Kerberos ticket, as a frozen value: the options of Java's Krb5LoginModule.

EXTRA = install("kerberos")


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


# The meaning of a Kerberos failure, in plain words, and its remedy.
#
# GSS-API names a failure by two numbers. The minor one comes from MIT's library: a KDC's error of RFC 4120, 7.5.9, or
# an error of the library itself, both counted from the same base (krb5_err.et).

_BASE = -1765328384
_WORD = 1 << 32
_SKEW = "the clocks of this host, of the KDC or of the broker are more than 5 minutes apart: synchronize them (NTP)"
_EXPIRED = "the Kerberos ticket has expired: kinit, or set useKeyTab=true with a keyTab in sasl.jaas.config"
_NO_KDC = "no KDC of the realm answers: check kdc in krb5.conf (KRB5_CONFIG, java.security.krb5.conf) and the network"
_NO_TICKET = "there is no Kerberos ticket in {cache}: kinit, or set useKeyTab=true with a keyTab in sasl.jaas.config"
_NO_REALM = "krb5.conf names no KDC of the realm: check KRB5_CONFIG or java.security.krb5.conf"
_NOT_IN_KEYTAB = "{keytab} has no key of {principal}: see klist -k, and check principal and keyTab in sasl.jaas.config"
_WRONG_KEY = "the key in {keytab} is not that of {principal}: export the keytab again"
_NO_SERVICE = (
    "the KDC does not know the service {service}: check sasl.kerberos.service.name, and connect by the host name in "
    "the principal of the broker"
)
_NOT_OF_PRINCIPAL = "the ticket in {cache} is not of {principal}: kinit {principal}, or check sasl.jaas.config"
_NO_CACHE = "the ticket cache {cache} cannot be read: kinit"
#: {the KDC's or the library's number: sentence}.
_REASONS = {
    1: "the principal {principal} has expired: ask the administrator of the realm",
    6: "the KDC does not know the principal {principal}: check principal in sasl.jaas.config",
    7: _NO_SERVICE,
    14: "the KDC and this host have no encryption type in common: check permitted_enctypes in krb5.conf",
    18: "the principal {principal} is locked: ask the administrator of the realm",
    23: "the key of {principal} has expired: change it, and export the keytab again",
    24: _WRONG_KEY,
    31: _WRONG_KEY,
    32: _EXPIRED,
    37: _SKEW,
    68: _NO_REALM,
    148: _SKEW,
    154: _NO_REALM,
    156: _NO_KDC,
    181: _NOT_IN_KEYTAB,
    193: _NO_CACHE,
    195: _NO_TICKET,
    212: _NO_CACHE,
}
#: A number of GSS-API itself: the cache belongs to another principal.
_OTHER_PRINCIPAL = 39756032
NO_ANSWER = "no KDC of the realm answered in time: check kdc in krb5.conf and the network"


def number_of(minor: int) -> int:
    """Returns the KDC's or the library's number of a minor status, which has 32 bits."""
    return (minor - _WORD if minor >= _WORD >> 1 else minor) - _BASE


def kerberos_reason(minor: int, text: str, names: Mapping[str, str], *, with_keytab: bool) -> str:
    """Returns the sentence of a failure with these names; `text` is the library's own sentence.

    With `with_keytab`, the key of a keytab was used, and no ticket cache.
    """
    if minor == _OTHER_PRINCIPAL:
        return _NOT_OF_PRINCIPAL.format(**names)
    sentence = _REASONS.get(number_of(minor))
    if with_keytab and sentence == _NO_TICKET:
        sentence = _NOT_IN_KEYTAB
    return sentence.format(**names) if sentence is not None else text


# Tickets, and the client's half of SASL GSSAPI (RFC 4752), both by MIT's library, the extra `kerberos`.
#
# A KDC that does not answer blocks the library for half a minute, and the library has no timeout. So each step that may
# ask a KDC runs in a thread, which is abandoned after the timeout.

T = TypeVar("T")
_CONFIG = "KRB5_CONFIG"
_SYSTEM_CONFIG = os.environ.get(_CONFIG)
#: A ticket is not used in its last seconds.
_MARGIN = 30
#: Share of the connection's timeout, so that the message can name the KDC as the cause.
_SHARE = 0.75
#: RFC 4752, 3.3: the security layers that a server offers, of which kfix takes none: TLS protects the connection.
_NO_LAYER = 1
_OFFER = struct.Struct(">I")
#: The library reads its settings from the environment, which all threads share.
_LOCK = threading.Lock()
_NUMBERS = itertools.count(1)
#: {settings: (credentials, whether they are of the keytab)} of this process.
_KEPT: dict[Kerberos, tuple[Any, bool]] = {}


class GssClient:
    """One authentication at one broker: `answer` takes the broker's message and returns the reply."""

    def __init__(self, settings: Kerberos, host: str, seconds: float) -> None:
        """Raises KerberosError, also if there is no ticket."""
        gssapi = _library()
        self._settings = settings
        self._service = f"{settings.service}/{host}"
        self._seconds = seconds * _SHARE
        self._with_keytab = not settings.uses_cache
        credentials, self._with_keytab = self._in_time(lambda: _credentials(settings))
        name = gssapi.Name(f"{settings.service}@{host}", gssapi.NameType.hostbased_service)
        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.out_of_sequence_detection
        flags |= gssapi.RequirementFlag.integrity
        self._context = gssapi.SecurityContext(
            name=name, creds=credentials, mech=gssapi.MechType.kerberos, flags=flags, usage="initiate"
        )
        self.complete = False

    def answer(self, challenge: bytes | None) -> bytes:
        """Returns the next message to the broker; the first one follows no challenge. Raises KerberosError."""
        message: bytes = self._in_time(lambda: self._answer(challenge))
        return message

    def _answer(self, challenge: bytes | None) -> Any:
        if not self._context.complete:
            return self._context.step(challenge) or b""
        offer = self._context.unwrap(challenge or b"").message
        if len(offer) != _OFFER.size or not offer[0] & _NO_LAYER:
            raise KerberosError("Kerberos: the broker requires a security layer, which Kafka does not have")
        self.complete = True
        return self._context.wrap(_OFFER.pack(_NO_LAYER << 24), encrypt=False).message

    def _in_time(self, step: Callable[[], T]) -> T:
        """Returns the step's result, with the settings' own krb5.conf. Raises KerberosError, also after the timeout."""
        from gssapi.raw.misc import GSSError  # noqa: PLC0415 - the extra kerberos

        def run() -> T:
            with _LOCK:
                _use_config(self._settings.config)
                return step()

        try:
            return _within(self._seconds, run)
        except GSSError as error:
            names = self._settings.named(self._service)
            why = kerberos_reason(error.min_code, _words(error), names, with_keytab=self._with_keytab)
            _KEPT.pop(self._settings, None)
            raise KerberosError(f"Kerberos: {why}") from None


def name_in_ticket(settings: Kerberos) -> str:
    """Returns the ticket's client, as an authorizer with Kafka's default rules names it; "" without a ticket."""
    kept = _KEPT.get(settings)
    return short_name(str(kept[0].name)) if kept is not None else ""


def _library() -> Any:
    try:
        import gssapi  # noqa: PLC0415 - the extra kerberos
    except ImportError as error:
        missing = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise KerberosError(f"GSSAPI needs the extra kerberos{missing}: {EXTRA}") from None
    return gssapi


def _credentials(settings: Kerberos) -> tuple[Any, bool]:
    """Returns credentials that last, and whether the key in the keytab made them. Raises GSSError."""
    from gssapi.raw.misc import GSSError  # noqa: PLC0415 - the extra kerberos

    kept = _KEPT.get(settings)
    if kept is None or _left(kept[0]) < _MARGIN:
        if settings.uses_cache:
            try:
                kept = _of_cache(settings), False
                usable = not settings.keytab or _left(kept[0]) >= _MARGIN
            except GSSError:
                if not settings.keytab:
                    raise
                usable = False
        else:
            usable = False
        if kept is None or not usable:
            kept = _of_keytab(settings), True
        _KEPT[settings] = kept
    return kept


def _of_cache(settings: Kerberos) -> Any:
    return _acquired(settings, {"ccache": settings.cache} if settings.cache else None)


def _of_keytab(settings: Kerberos) -> Any:
    try:
        with open(settings.keytab, "rb"):  # noqa: PTH123 - opened for its error alone
            pass
    except OSError as error:
        why = (error.strerror or "").lower()
        raise KerberosError(f"Kerberos: the keytab {settings.keytab} cannot be read: {why}") from None
    # A cache in memory: it neither changes the user's own cache nor leaves a ticket in a file.
    return _acquired(settings, {"ccache": f"MEMORY:kfix-{next(_NUMBERS)}", "client_keytab": settings.keytab})


def _acquired(settings: Kerberos, store: dict[bytes | str, bytes | str] | None) -> Any:
    import gssapi  # noqa: PLC0415 - the extra kerberos

    name = gssapi.Name(settings.principal, gssapi.NameType.kerberos_principal) if settings.principal else None
    return gssapi.Credentials(name=name, usage="initiate", mechs=[gssapi.MechType.kerberos], store=store)


def _left(credentials: Any) -> float:
    """Returns the seconds that the ticket is still valid."""
    from gssapi.exceptions import ExpiredCredentialsError  # noqa: PLC0415 - the extra kerberos

    try:
        found = credentials.lifetime
    except ExpiredCredentialsError:
        return 0
    return float("inf") if found is None else found


def _use_config(path: str) -> None:
    config = path or _SYSTEM_CONFIG
    if config is None:
        os.environ.pop(_CONFIG, None)
    elif os.environ.get(_CONFIG) != config:
        os.environ[_CONFIG] = config


def _words(error: Any) -> str:
    """Returns the library's text for the minor status."""
    found = list(error.get_all_statuses(error.min_code, is_maj=False)) if error.min_code else []
    return "; ".join(found) or "the broker's response is not valid"


def _within(seconds: float, step: Callable[[], T]) -> T:
    """Returns the step's result or raises its error. Raises KerberosError after `seconds`, and abandons the step."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(step())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, name="kerberos", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise KerberosError(f"Kerberos: {NO_ANSWER}")
    return done[0]
