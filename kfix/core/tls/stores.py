"""Reads a key or trust store: PEM, PKCS12 or JKS, recognized by its content, since Java reads either as type JKS."""

from __future__ import annotations

import base64
import re
import textwrap
from dataclasses import dataclass, field

from kfix.core.tls.jks import MAGIC, JksStore, KeyStoreError, private_key, read_jks

_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_JCEKS = b"\xce\xce\xce\xce"
_BCFKS_OR_PKCS12 = 0x30  # A DER sequence.
_CONVERT = "convert it: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype PKCS12"


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key and its certificate chain, as PEM. `encrypted` is whether the key needs `ssl.key.password`."""

    chain: str
    key: str = field(repr=False)
    encrypted: bool = False


def trusted_certificates(data: bytes, password: str | None) -> str:
    """Returns all certificates of a trust store as PEM. Raises KeyStoreError if it has none or cannot be read."""
    if data.startswith(MAGIC):
        # Java trusts the first certificate of a key entry, too.
        store = read_jks(data, password)
        found = "".join(map(_certificate, (*store.trusted, *(chain[0] for _, chain in store.keys if chain))))
    elif _is_binary(data):
        key, own, others = _pkcs12(data, password)
        del key
        found = "".join(filter(None, (own, *others)))
    else:
        found = "".join(text for label, text in pem_parts(data.decode("latin-1")) if label.endswith("CERTIFICATE"))
    if not found:
        raise KeyStoreError("it has no certificate")
    return found


def identity(data: bytes, password: str | None, key_password: str | None) -> Identity:
    """Returns the first private key of a key store with its chain. Raises KeyStoreError if it has none."""
    if data.startswith(MAGIC):
        return _jks_identity(read_jks(data, password), key_password or password or "")
    if not _is_binary(data):
        return pem_identity(data.decode("latin-1"))
    key, own, others = _pkcs12(data, password)
    if not key or not own:
        raise KeyStoreError("it has no private key with a certificate")
    return Identity("".join((own, *others)), key)


def pem_identity(text: str) -> Identity:
    parts = pem_parts(text)
    chain = "".join(part for label, part in parts if label.endswith("CERTIFICATE"))
    keys = [(label, part) for label, part in parts if label.endswith("PRIVATE KEY")]
    if not keys or not chain:
        raise KeyStoreError(f"it has no {'certificate' if keys else 'private key'}")
    label, key = keys[0]
    return Identity(chain, key, encrypted=label.startswith("ENCRYPTED") or "Proc-Type" in key)


def pem_parts(text: str) -> list[tuple[str, str]]:
    """Returns (label, PEM with lines of 64 characters): in a properties file it may be one line."""
    found = []
    for label, body in _PEM.findall(text):
        lines = body if ":" in body else "\n" + "\n".join(textwrap.wrap("".join(body.split()), 64)) + "\n"
        found.append((label, f"-----BEGIN {label}-----{lines}-----END {label}-----\n"))
    return found


def subject_of(chain: str) -> str:
    """Returns the subject of the first certificate as RFC 2253 writes it, as Java does."""
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415 - only an error message needs it

    return load_pem_x509_certificate(chain.encode()).subject.rfc4514_string()


def _is_binary(data: bytes) -> bool:
    if data.startswith(_JCEKS):
        raise KeyStoreError(f"it is a JCEKS key store, which is not supported; {_CONVERT}")
    if data[:1] == bytes([_BCFKS_OR_PKCS12]):
        return True
    if b"-----BEGIN " not in data:
        raise KeyStoreError(f"it is no PEM, PKCS12 or JKS store; {_CONVERT}")
    return False


def _jks_identity(store: JksStore, password: str) -> Identity:
    if not store.keys:
        raise KeyStoreError("it has no private key")
    protected, chain = store.keys[0]
    return Identity("".join(map(_certificate, chain)), _pem("PRIVATE KEY", private_key(protected, password)))


def _pkcs12(data: bytes, password: str | None) -> tuple[str, str, list[str]]:
    """Returns (key, its certificate, all other certificates) as PEM, "" for missing ones."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - only who has such a store needs it
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    try:
        found = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError as error:
        wrong = "password" in str(error).lower()
        why = "its password is wrong, or the file is damaged" if wrong else "it is not a whole PKCS12 store"
        raise KeyStoreError(why, password=wrong) from None
    except Exception as error:  # noqa: BLE001 - of an algorithm that this OpenSSL does not have
        raise KeyStoreError(f"it cannot be read ({type(error).__name__}); {_CONVERT}") from None
    key = b"" if found.key is None else found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    own = b"" if found.cert is None else found.cert.certificate.public_bytes(Encoding.PEM)
    others = [each.certificate.public_bytes(Encoding.PEM).decode() for each in found.additional_certs]
    return key.decode(), own.decode(), others


def _certificate(der: bytes) -> str:
    return _pem("CERTIFICATE", der)


def _pem(label: str, der: bytes) -> str:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
