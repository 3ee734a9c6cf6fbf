"""The meaning of a failed TLS connection, in plain words, and its remedy."""

import contextlib
import re
import ssl
from datetime import UTC, datetime
from typing import Final

from kfix.core.tls.settings import Tls

# Certificates of the client's own stores that have expired: a server rarely says so, and Java's alerts differ.

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


#: OpenSSL's codes of a certificate that was not accepted (x509_vfy.h).
_VERIFY = {
    9: "the server's certificate is not valid yet: compare the clocks",
    10: "the server's certificate has expired: renew it",
    18: "the server's certificate is self-signed and not in ssl.truststore.*: add it there",
    19: "the CA of the server's certificate is unknown: add it to ssl.truststore.*",
    20: "the CA of the server's certificate is unknown: add it to ssl.truststore.*",
    21: "the CA of the server's certificate is unknown: add it to ssl.truststore.*",
    23: "the server's certificate is revoked",
    62: "the server's certificate is for another host",
    64: "the server's certificate is for another host",
}
_OTHER_HOST = (62, 64)
#: Alerts of the server, as OpenSSL names them, of any version of TLS.
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the server requires a client certificate: set ssl.keystore.*",
    "BAD_CERTIFICATE": "the server requires another client certificate: check ssl.keystore.*",
    "CERTIFICATE_UNKNOWN": "the server does not accept the client certificate of ssl.keystore.*",
    "UNKNOWN_CA": "the server does not know the CA of the client certificate of ssl.keystore.*",
    "CERTIFICATE_EXPIRED": "the client certificate of ssl.keystore.* has expired: renew it",
    "CERTIFICATE_REVOKED": "the client certificate of ssl.keystore.* is revoked",
    "HANDSHAKE_FAILURE": "server and client have no cipher suite in common, or the server requires a client "
    "certificate: check ssl.cipher.suites and ssl.keystore.*",
    "PROTOCOL_VERSION": "server and client have no TLS version in common: check ssl.enabled.protocols",
}
#: How Java's refusal of a TLS 1.3 client arrives: it sends the alert with other keys than OpenSSL expects.
_UNREADABLE = "DECRYPTION_FAILED_OR_BAD_RECORD_MAC"
_NOT_TLS = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING"}


def tls_reason(error: ssl.SSLError, keys: str = "ssl.", switch: str = "security.protocol", *, own: bool = True) -> str:
    """Returns the sentence. `keys` is the prefix of the connection's settings, `switch` the setting that enables TLS.

    `own` is whether the client may have shown a certificate.
    """

    def named(text: str) -> str:
        return text.replace("ssl.", keys)

    if isinstance(error, ssl.SSLCertVerificationError):
        why = named(_VERIFY[error.verify_code]) if error.verify_code in _VERIFY else error.verify_message
        if error.verify_code in _OTHER_HOST:
            detail = error.verify_message.partition("'")[2].rpartition("'")[0]
            return (
                f"TLS failed: {why} than {detail or 'this one'}: connect by a name in it, or set an empty "
                f"{keys}endpoint.identification.algorithm"
            )
        return f"TLS failed: {why}"
    reason = error.reason or ""
    for alert, meaning in _ALERTS.items():
        if reason.endswith(f"ALERT_{alert}"):
            why = meaning if own or alert != "BAD_CERTIFICATE" else _ALERTS["CERTIFICATE_REQUIRED"]
            return f"TLS failed: {named(why)}"
    if reason == _UNREADABLE:
        return f"TLS failed: the server refused the client; it may require a client certificate: check {keys}keystore.*"
    if reason in _NOT_TLS or isinstance(error, ssl.SSLEOFError):
        return f"TLS failed: the server does not use TLS at this port, or ended the handshake: check {switch}"
    return f"TLS failed: {reason.lower().replace('_', ' ') or error}"
