"""Key and trust stores of a throw-away authority, in every format that Java has; the JKS ones by Java's keytool."""

import subprocess

from kfix.lab.security.certificates import CertificateAuthority, pem
from tests.waiting import seconds

PASSWORD = "st0re pass"


def make_stores(folder):
    """Writes trust and own as .p12 and .jks, ca.pem and own.pem (with an encrypted key); returns the authority."""
    authority = CertificateAuthority.new("kfix test")
    own = authority.issue("ann", ["127.0.0.1", "node.kfix.test"])
    (folder / "trust.p12").write_bytes(authority.trust_store(PASSWORD))
    (folder / "own.p12").write_bytes(own.key_store(PASSWORD))
    (folder / "ca.pem").write_text(pem(authority.certificate))
    (folder / "own.pem").write_text(own.key_pem(PASSWORD) + own.chain_pem)
    (folder / "open.pem").write_text(own.key_pem() + own.chain_pem)
    (folder / "password").write_text(PASSWORD)
    for name in ("trust", "own"):
        keytool(folder, f"{name}.p12", f"{name}.jks", "JKS")
    return authority, own


def keytool(folder, source, target, kind):
    word = f"{folder}/password"
    own = ["-srckeystore", source, "-srcstoretype", "PKCS12", "-srcstorepass:file", word]
    new = ["-destkeystore", target, "-deststoretype", kind, "-deststorepass:file", word]
    subprocess.run(
        ["keytool", "-importkeystore", "-noprompt", *own, *new],
        check=True,
        capture_output=True,
        cwd=folder,
        timeout=seconds(60),
    )
