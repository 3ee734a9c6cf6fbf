"""Reads a JKS key store, the format of `keytool -storetype JKS` and the default of Java 8 (docs/adr/025).

Source: `sun.security.provider.JavaKeyStore` and `KeyProtector`. Certificates are stored in the clear; a private key is
XORed with a key stream of SHA-1 over the password; a SHA-1 digest with the password protects the whole file.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, field

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
