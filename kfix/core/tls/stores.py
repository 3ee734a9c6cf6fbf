"""Reads a key or trust store: PEM, PKCS12 or JKS, recognized by its content, since Java reads either as type JKS."""

import base64
import hashlib
import hmac
import re
import struct
import textwrap
from dataclasses import dataclass, field

# Reads a JKS key store, the format of `keytool -storetype JKS` and the default of Java 8 (docs/adr/025).
#
# Source: `sun.security.provider.JavaKeyStore` and `KeyProtector`. Certificates are stored in the clear; a private key
# is XORed with a key stream of SHA-1 over the password; a SHA-1 digest with the password protects the whole file.

MAGIC = b"\xfe\xed\xfe\xed"
_KEY, _CERTIFICATE = 1, 2
_WHITENER = b"Mighty Aphrodite"
_DIGEST = hashlib.sha1(usedforsecurity=False).digest_size
_SEQUENCE, _OCTETS = 0x30, 0x04
_MOST_ENTRIES = 100_000


class KeyStoreError(Exception):
    """Why a key or trust store cannot be used. `password` is whether another password would help."""

    def __init__(self, why: str, *, password: bool = False) -> None:
        super().__init__(why)
        self.password = password


@dataclass(frozen=True, slots=True)
class JksStore:
    """`keys` are (protected key, its certificate chain); certificates are DER, the ones in `trusted` stand alone."""

    keys: tuple[tuple[bytes, tuple[bytes, ...]], ...] = field(repr=False)
    trusted: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Returns the entries; with None as the password the digest is not checked, as in Java. Raises KeyStoreError."""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    reader = _Reader(body)
    try:
        store = _entries(reader)
    except (struct.error, UnicodeDecodeError):
        raise KeyStoreError("it is not a whole JKS key store") from None
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _WHITENER + body, usedforsecurity=False).digest()
        if not hmac.compare_digest(expected, digest):
            raise KeyStoreError("its password is wrong, or the file is damaged", password=True)
    return store


def private_key(protected: bytes, password: str) -> bytes:
    """Returns the key of an entry as PKCS8 DER. Raises KeyStoreError if the password is wrong."""
    try:
        outer = _Reader(_tagged(_Reader(protected), _SEQUENCE))
        _tagged(outer, _SEQUENCE)  # The algorithm: a JKS store has only this one.
        content = _tagged(outer, _OCTETS)
    except struct.error:
        raise KeyStoreError("its private key cannot be read") from None
    salt, hidden, check = content[:_DIGEST], content[_DIGEST:-_DIGEST], content[-_DIGEST:]
    secret, stream, last = _utf16(password), b"", salt
    while len(stream) < len(hidden):
        last = hashlib.sha1(secret + last, usedforsecurity=False).digest()
        stream += last
    key = bytes(a ^ b for a, b in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key, usedforsecurity=False).digest(), check):
        raise KeyStoreError("the password of its private key is wrong", password=True)
    return key


class _Reader:
    """Raises struct.error beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise struct.error("a length beyond the end")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def text(self) -> str:
        return self.take(self.number(">H")).decode("utf-8")

    def blob(self) -> bytes:
        return self.take(self.number(">i"))


def _entries(reader: _Reader) -> JksStore:
    reader.take(len(MAGIC))
    version, count = reader.number(">i"), reader.number(">i")
    if version not in {1, 2} or not 0 <= count <= _MOST_ENTRIES:
        raise struct.error("not a known version")

    def certificate() -> bytes:
        if version > 1:
            reader.text()  # The type, X.509.
        return reader.blob()

    keys, trusted = [], []
    for _ in range(count):
        tag = reader.number(">i")
        reader.take(struct.unpack(">H", reader.take(2))[0])  # The alias, in Java's own UTF-8.
        reader.number(">q")
        if tag == _KEY:
            keys.append((reader.blob(), tuple(certificate() for _ in range(reader.number(">i")))))
        elif tag == _CERTIFICATE:
            trusted.append(certificate())
        else:
            raise struct.error("not a known kind of entry")
    return JksStore(tuple(keys), tuple(trusted))


def _tagged(reader: _Reader, tag: int) -> bytes:
    """Returns the content of a DER value."""
    if reader.take(1)[0] != tag:
        raise struct.error("another value of DER")
    size = reader.take(1)[0]
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    return reader.take(size)


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


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
