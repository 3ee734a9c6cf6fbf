"""Which certificate of the client's own stores has ended, where a connection failed."""

from __future__ import annotations

import ssl
from datetime import timedelta

import pytest

from kfix.core.kafka.security import Security
from kfix.core.tls.settings import Tls
from kfix.lab.security.certificates import CertificateAuthority, pem

VALID = CertificateAuthority.new("valid")
ENDED = CertificateAuthority.new("ended", valid=timedelta(-1))


def verification(code):
    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, "?"
    return error


def reason(error, **stores):
    return Security("SSL", tls=Tls(**stores)).reason(error)


def test_an_expired_authority_is_no_expired_certificate_of_the_server():
    both = pem(VALID.certificate) + pem(ENDED.certificate)
    assert "a CA in ssl.truststore.* has expired (CN=ended, on 20" in reason(verification(10), ca=both)
    assert "the server's certificate has expired" in reason(verification(10), ca=pem(VALID.certificate))
    assert "the CA of the server's certificate is unknown" in reason(verification(20), ca=both)


@pytest.mark.parametrize("alert", ["SSLV3_ALERT_CERTIFICATE_UNKNOWN", "DECRYPTION_FAILED_OR_BAD_RECORD_MAC"])
def test_an_expired_client_certificate_is_named_whatever_the_alert(alert):
    error = ssl.SSLError(1, alert)
    error.reason = alert
    old, new = (VALID.issue("kfix", valid=each) for each in (timedelta(-1), timedelta(1)))
    assert "client certificate of ssl.keystore.* has expired (CN=kfix, on" in reason(error, chain=old.chain_pem)
    assert "has expired" not in reason(error, chain=new.chain_pem)


def test_a_certificate_that_the_client_does_not_have_is_required_and_one_that_it_has_is_another():
    error = ssl.SSLError(1, "alert")
    error.reason = "SSLV3_ALERT_BAD_CERTIFICATE"
    assert reason(error) == "TLS failed: the server requires a client certificate: set ssl.keystore.*"
    assert "requires another client certificate" in reason(error, chain=VALID.issue("kfix").chain_pem)


def test_without_tls_an_error_is_in_plain_words():
    assert Security().reason(ConnectionRefusedError()) == "connection refused, nothing listens there"
