"""The certificates of a lab: an authority of its own, and what it signs."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Issued:
    """A private key with its certificate and that of the authority."""

    name: str
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    authority: x509.Certificate

    def key_pem(self, password: str = "") -> str:
        return key_pem(self.key, password)

    @property
    def chain_pem(self) -> str:
        return pem(self.certificate) + pem(self.authority)

    def key_store(self, password: str) -> bytes:
        """Returns a PKCS12 key store."""
        hidden = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(
            self.name.encode(), self.key, self.certificate, [self.authority], hidden
        )


@dataclass(frozen=True)
class CertificateAuthority:
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate

    @classmethod
    def new(
        cls, name: str, key: ec.EllipticCurvePrivateKey | None = None, valid: timedelta = timedelta(days=3650)
    ) -> Self:
        """Makes an authority, or another certificate for the key of one; a negative `valid` has expired."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        unsigned = (
            _builder(subject, subject, key, datetime.now(UTC) + valid)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(key, unsigned.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, certificate: str, key: str, password: str) -> Self:
        """Reads an authority from what `pem` and `key_pem` wrote."""
        found = load_pem_private_key(key.encode(), password.encode())
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        return cls(found, x509.load_pem_x509_certificate(certificate.encode()))

    def issue(self, name: str, hosts: Sequence[str] = (), valid: timedelta = timedelta(days=365)) -> Issued:
        """Signs a certificate of that name; `hosts` are names and IP addresses, a negative `valid` has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), self.certificate.subject, key, datetime.now(UTC) + valid)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
        return Issued(name, key, builder.sign(self.key, hashes.SHA256()), self.certificate)

    def trust_store(self, password: str) -> bytes:
        """Returns a PKCS12 trust store as Java reads it."""
        alias = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        return pkcs12.serialize_java_truststore([alias], BestAvailableEncryption(password.encode()))


def key_pem(key: ec.EllipticCurvePrivateKey, password: str = "") -> str:
    """Returns the key as PKCS8, encrypted where a password is given."""
    hidden: KeySerializationEncryption = NoEncryption()
    if password:
        hidden = BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(datetime.now(UTC), end) - _HOUR)
        .not_valid_after(end)
    )
