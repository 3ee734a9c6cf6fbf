"""The TLS settings of a connection as a frozen value, and the OpenSSL context that is made of them, once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

#: Kafka's names of protocol versions, oldest first, and OpenSSL's.
VERSIONS = {"TLSv1": "TLSv1", "TLSv1.1": "TLSv1_1", "TLSv1.2": "TLSv1_2", "TLSv1.3": "TLSv1_3"}
#: The default of ssl.enabled.protocols.
ENABLED = ("TLSv1.2", "TLSv1.3")
_SUITE = re.compile(r"TLS_(?:(?P<exchange>[A-Z0-9_]+)_WITH_)?(?P<rest>[A-Z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS settings. The key and its password never enter a repr.

    `ca` are the trusted certificates as PEM, "" for the system's; `ciphers` are Java's names of suites, () for the
    default.
    """

    ca: str = field(default="", repr=False)
    chain: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    check_hostname: bool = True
    versions: tuple[str, ...] = ENABLED
    ciphers: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def context_of(tls: Tls) -> ssl.SSLContext:
    """Raises ssl.SSLError for a key or certificate that OpenSSL does not accept."""
    import ssl  # noqa: PLC0415 - only a cluster with TLS needs it

    context = ssl.create_default_context(cadata=tls.ca or None)
    # As Java does: each certificate of the trust store is an anchor, even one that is not a CA.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = tls.check_hostname
    order = list(VERSIONS)
    enabled = sorted(tls.versions, key=order.index)
    if tls.ciphers and not any(_is_modern(suite) for suite in tls.ciphers):
        enabled = [each for each in enabled if each != "TLSv1.3"]
    context.minimum_version = ssl.TLSVersion[VERSIONS[enabled[0]]]
    context.maximum_version = ssl.TLSVersion[VERSIONS[enabled[-1]]]
    older = [openssl_name(suite) for suite in tls.ciphers if not _is_modern(suite)]
    if older:
        context.set_ciphers(":".join(older))
    if tls.chain:
        _load_identity(context, tls)
    return context


def openssl_name(suite: str) -> str:
    """Returns OpenSSL's name of a suite of TLS 1.2 or older, "" if the name is no suite's."""
    match = _SUITE.fullmatch(suite)
    if match is None or match["exchange"] is None:
        return ""
    rest = match["rest"].replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    rest = rest.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    exchange = "" if match["exchange"] == "RSA" else match["exchange"].replace("_", "-") + "-"
    return exchange + rest.replace("_", "-")


def known_suite(suite: str) -> bool:
    import ssl  # noqa: PLC0415 - only a cluster with TLS needs it

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if _is_modern(suite):
        return suite in {each["name"] for each in context.get_ciphers()}
    try:
        context.set_ciphers(openssl_name(suite) or "-")
    except ssl.SSLError:
        return False
    return True


def _is_modern(suite: str) -> bool:
    """Whether it is a suite of TLS 1.3."""
    return "_WITH_" not in suite


def _load_identity(context: ssl.SSLContext, tls: Tls) -> None:
    """Loads the key from memory: OpenSSL accepts only a file, so this one has no name in any file system."""
    handle = os.memfd_create("kfix", os.MFD_CLOEXEC)
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write((tls.key + tls.chain).encode("latin-1"))
        # Never None: OpenSSL would then prompt on the terminal for the password of an encrypted key.
        context.load_cert_chain(f"/proc/self/fd/{handle}", None, tls.key_password)
    finally:
        os.close(handle)
