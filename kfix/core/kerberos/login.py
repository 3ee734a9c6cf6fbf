"""Tickets, and the client's half of SASL GSSAPI (RFC 4752), both by MIT's library, the extra `kerberos`.

A KDC that does not answer blocks the library for half a minute, and the library has no timeout. So each step that may
ask a KDC runs in a thread, which is abandoned after the timeout.
"""

from __future__ import annotations

import itertools
import os
import struct
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from kfix.core.kerberos.reasons import NO_ANSWER, kerberos_reason
from kfix.core.kerberos.settings import EXTRA, Kerberos, KerberosError, short_name

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
