"""Certificates of the client's own stores that have expired: a server rarely says so, and Java's alerts differ."""

from __future__ import annotations

import contextlib
import re
import ssl
from datetime import UTC, datetime
from typing import Final

from kfix.core.tls.settings import Tls

_EXPIRED: Final = 10  # OpenSSL's code (x509_vfy.h)
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def expired_reason(error: ssl.SSLError, tls: Tls) -> str:
    """Returns which certificate of the client's stores explains a failed connection, "" if none does.

    OpenSSL reports an expired CA as it reports an expired certificate of the server.
    """
    now = datetime.now(UTC)
    if isinstance(error, ssl.SSLCertVerificationError):
        ended = _first_expired(tls.ca, now) if error.verify_code == _EXPIRED else ""
        return (
            f"TLS failed: a CA in ssl.truststore.* has expired ({ended}): add the one that follows it" if ended else ""
        )
    ended = _first_expired(tls.chain, now)
    return f"TLS failed: the client certificate of ssl.keystore.* has expired ({ended}): renew it" if ended else ""


def _first_expired(text: str, now: datetime) -> str:
    """Returns the subject and the end of the first certificate that has expired, "" if none has."""
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415 - only an error message needs it

    for each in _CERTIFICATE.findall(text):
        # OpenSSL accepts certificates that this library does not parse.
        with contextlib.suppress(ValueError):
            certificate = load_pem_x509_certificate(each.encode())
            if certificate.not_valid_after_utc < now:
                return f"{certificate.subject.rfc4514_string()}, on {certificate.not_valid_after_utc:%Y-%m-%d}"
    return ""
