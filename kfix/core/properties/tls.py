"""The `ssl.*` keys of a client properties file."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.properties.parsing import PropertiesReading
from kfix.core.tls.settings import ENABLED, VERSIONS, Tls, context_of, known_suite
from kfix.core.tls.stores import Identity, KeyStoreError, identity, pem_identity, trusted_certificates

T = TypeVar("T")
_LARGEST = 16 << 20
_TYPES = ("JKS", "PKCS12", "PEM")
_TRUST = ("ssl.truststore.location", "ssl.ca.location")
_TRUST_INLINE = ("ssl.truststore.certificates", "ssl.ca.pem")
_OWN = ("ssl.keystore.location", "ssl.certificate.location")
_CHAIN_INLINE = ("ssl.keystore.certificate.chain", "ssl.certificate.pem")
_KEY_INLINE = ("ssl.keystore.key", "ssl.key.pem")
_NO_CHECK = {"", "none"}


def read_tls(reading: PropertiesReading) -> Tls:
    """Returns the TLS settings; adds the mistakes of keys, stores and passwords to the reading."""
    before = len(reading.problems)
    algorithm = reading.get("ssl.endpoint.identification.algorithm", default="https").lower()
    if algorithm not in {"https", *_NO_CHECK}:
        reading.problem(
            f"ssl.endpoint.identification.algorithm is https or empty, not {algorithm!r}",
            "ssl.endpoint.identification.algorithm",
        )
    _check_kinds(reading)
    own = _identity(reading) or Identity("", "")
    password = reading.get("ssl.key.password")
    if own.encrypted and not password:
        reading.problem("the private key is encrypted: ssl.key.password is missing", *_KEY_INLINE, *_OWN)
    tls = Tls(
        ca=_trust(reading),
        chain=own.chain,
        key=own.key,
        key_password=password if own.encrypted else "",
        check_hostname=algorithm not in _NO_CHECK,
        versions=_versions(reading),
        ciphers=_ciphers(reading),
    )
    if len(reading.problems) == before:
        _try(reading, tls)
    return tls


def _check_kinds(reading: PropertiesReading) -> None:
    for kind, inline in (("truststore", _TRUST_INLINE[:1]), ("keystore", (_CHAIN_INLINE[0], _KEY_INLINE[0]))):
        key = f"ssl.{kind}.type"
        store_type = reading.get(key)
        if store_type and store_type.upper() not in _TYPES:
            reading.problem(f"{key} {store_type} is not supported, use one of {', '.join(_TYPES)}", key)
        elif store_type and store_type.upper() != "PEM" and reading.has(*inline):
            reading.problem(f"{key} is {store_type}, but {inline[0]} is PEM", key)
        if reading.has(*inline) and reading.has(f"ssl.{kind}.location"):
            reading.problem(f"{inline[0]} and ssl.{kind}.location exclude each other", *inline)


def _trust(reading: PropertiesReading) -> str:
    if inline := reading.get(*_TRUST_INLINE):
        return _taken(reading, lambda: trusted_certificates(inline.encode(), None), _TRUST_INLINE) or ""
    data = _content(reading, _TRUST)
    if data is None:
        return ""
    password = _optional(reading, "ssl.truststore.password")
    return _taken(reading, lambda: trusted_certificates(data, password), _TRUST, "ssl.truststore.password") or ""


def _identity(reading: PropertiesReading) -> Identity | None:
    if reading.has(*_CHAIN_INLINE, *_KEY_INLINE):
        text = reading.get(*_CHAIN_INLINE) + "\n" + reading.get(*_KEY_INLINE)
        return _taken(reading, lambda: pem_identity(text), (*_KEY_INLINE, *_CHAIN_INLINE))
    data = _content(reading, _OWN)
    if data is None:
        return None
    key = _content(reading, ("ssl.key.location",))
    if key is not None:
        return _taken(reading, lambda: pem_identity((data + b"\n" + key).decode("latin-1")), ("ssl.key.location",))
    password = _optional(reading, "ssl.keystore.password")
    key_password = _optional(reading, "ssl.key.password")
    return _taken(reading, lambda: identity(data, password, key_password), _OWN, "ssl.keystore.password")


def _taken(reading: PropertiesReading, read: Callable[[], T], keys: tuple[str, ...], password: str = "") -> T | None:
    try:
        return read()
    except KeyStoreError as error:
        name = reading.get(*keys) if keys[0].endswith(".location") else next(k for k in keys if reading.has(k))
        wrong = error.password and password
        missing = f" ({password} is missing)" if wrong and not reading.has(password) else ""
        reading.problem(f"{name}: {error}{missing}", *((password, *keys) if wrong else keys))
        return None


def _content(reading: PropertiesReading, keys: tuple[str, ...]) -> bytes | None:
    """Returns the content of the file that one of these keys names, None if there is none or it has a mistake."""
    name = reading.get(*keys)
    if not name:
        return None
    try:
        return read_file(Path(name), _LARGEST)
    except FileNotFoundError:
        reading.problem(f"{name} does not exist", *keys)
    except OSError as error:
        reading.problem(f"{name}: cannot be read: {(error.strerror or '').lower()}", *keys)
    except UsageError as error:
        reading.problem(str(error), *keys)
    return None


def _optional(reading: PropertiesReading, key: str) -> str | None:
    return reading.get(key) if reading.has(key) else None


def _versions(reading: PropertiesReading) -> tuple[str, ...]:
    names = reading.items("ssl.enabled.protocols")
    for name in names:
        if name not in VERSIONS:
            reading.problem(
                f"ssl.enabled.protocols: {name} is not supported, use {', '.join(VERSIONS)}", "ssl.enabled.protocols"
            )
    whole = reading.get("ssl.protocol")
    if whole and whole not in {"TLS", *VERSIONS}:
        reading.problem(f"ssl.protocol {whole} is not supported, use TLS, {', '.join(VERSIONS)}", "ssl.protocol")
    known = tuple(name for name in names if name in VERSIONS)
    return known or ENABLED


def _ciphers(reading: PropertiesReading) -> tuple[str, ...]:
    suites = reading.items("ssl.cipher.suites")
    unknown = [suite for suite in suites if not known_suite(suite)]
    if suites and len(unknown) == len(suites):
        reading.problem(
            f"ssl.cipher.suites: OpenSSL has none of them: {', '.join(unknown)}",
            "ssl.cipher.suites",
        )
    return tuple(suite for suite in suites if suite not in unknown)


def _try(reading: PropertiesReading, tls: Tls) -> None:
    """Adds everything that OpenSSL refuses: a trusted certificate, one of the own chain, the key, or both together."""
    if tls.ca and _refusal(Tls(ca=tls.ca)) is not None:
        reading.problem("a trusted certificate is damaged: OpenSSL cannot read it", *_TRUST_INLINE, *_TRUST)
    elif tls.chain and _refusal(Tls(ca=tls.chain)) is not None:
        reading.problem("the certificate of the private key is damaged: OpenSSL cannot read it", *_CHAIN_INLINE, *_OWN)
    elif (reason := _refusal(tls)) is not None:
        if "MISMATCH" in reason:
            reading.problem("the private key does not belong to the certificate", *_KEY_INLINE, *_OWN)
        elif tls.key_password:
            reading.problem("ssl.key.password does not open the private key", "ssl.key.password")
        else:
            why = f" ({reason.lower().replace('_', ' ')})" if reason else ""
            reading.problem(f"the private key is damaged: OpenSSL cannot read it{why}", *_KEY_INLINE, *_OWN)


def _refusal(tls: Tls) -> str | None:
    """Returns OpenSSL's reason for refusing these settings, "" if it gives none, None if it accepts them."""
    import ssl  # noqa: PLC0415 - only a cluster with TLS needs it

    try:
        context_of(tls)
    except ssl.SSLError as error:
        return (error.reason or "").upper()
    return None
