"""The files of a secured lab: key and trust stores in three formats, and client properties for `--command-config`."""

import subprocess
from pathlib import Path

from kfix.core.errors import LabError
from kfix.core.kafka.security import Security
from kfix.core.private import write_private
from kfix.core.tls.settings import Tls
from kfix.core.tls.stores import pem_identity
from kfix.lab.definition.keeper_security import client_access, has_acls, write_jaas
from kfix.lab.definition.properties import render
from kfix.lab.definition.protocols import CONTROLLER_USER, MTLS, USER
from kfix.lab.definition.realm import client_login
from kfix.lab.definition.secured import CLIENT_FILES, client_jaas, identity_provider
from kfix.lab.definition.state import LabState, folder_of
from kfix.lab.definition.store import private
from kfix.lab.process.host import LOOPBACK, program
from kfix.lab.security.certificates import CertificateAuthority, Issued, key_pem, pem


def controller_security(state: LabState) -> Security:
    """How the lab itself logs in at the controllers of a secured lab."""
    spec = state.spec
    if not spec.is_secured:
        return Security()
    tls = Tls()
    if spec.has_tls:
        folder = folder_of(state)
        own = pem_identity((folder / "node.pem").read_text(encoding="ascii")) if spec.security == MTLS else None
        tls = Tls(
            ca=(folder / "ca.pem").read_text(encoding="ascii"),
            chain=own.chain if own else "",
            key=own.key if own else "",
            key_password=state.secret if own else "",
        )
    if not spec.mechanism_used:
        return Security(spec.listener, tls=tls)
    return Security(spec.listener, "PLAIN", CONTROLLER_USER, state.secret, tls)


#: Names that the certificate of the nodes is valid for. "localhost" is not one: it shows what a wrong name leads to.
HOSTS = (LOOPBACK.address, "node.kfix.test")
_LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_KEYTOOL_SECONDS = 60.0
_NODE, _TRUST = "node.p12", "truststore"


def write_authority(state: LabState) -> None:
    """Writes the certificates of a lab with TLS, before its nodes are started."""
    folder = folder_of(state)
    private(folder)
    if has_acls(state):
        write_jaas(state)
    if not state.spec.needs_certificates:
        return
    authority = CertificateAuthority.new(f"kfix lab {state.name}")
    write_private(folder / "ca.pem", pem(authority.certificate).encode())
    write_private(folder / "ca.key", key_pem(authority.key, state.secret).encode())
    write_private(folder / f"{_TRUST}.p12", authority.trust_store(state.secret))
    write_identity(folder, "node", authority.issue("node", HOSTS), state.secret)
    write_identity(folder, "client", authority.issue(USER), state.secret)
    write_private(folder / "password", state.secret.encode())
    _convert(folder, f"{_TRUST}.p12", f"{_TRUST}.jks")
    _convert(folder, "client.p12", "client.jks")


def authority_of(state: LabState) -> CertificateAuthority:
    """Returns the authority of a lab with TLS, to sign more certificates."""
    folder = folder_of(state)
    return CertificateAuthority.load((folder / "ca.pem").read_text(), (folder / "ca.key").read_text(), state.secret)


def write_identity(folder: Path, name: str, issued: Issued, password: str) -> None:
    """Writes a key with its certificate as PKCS12 and as PEM, both encrypted."""
    write_private(folder / f"{name}.p12", issued.key_store(password))
    write_private(folder / f"{name}.pem", (issued.key_pem(password) + issued.chain_pem).encode())


def write_clients(state: LabState, bootstrap: str) -> None:
    """Writes the client properties, one file for each format of the stores."""
    spec, folder = state.spec, folder_of(state)
    formats = CLIENT_FILES if spec.needs_certificates else dict(list(CLIENT_FILES.items())[:1])
    for kind, name in formats.items():
        settings = {
            "bootstrap.servers": bootstrap,
            "security.protocol": spec.listener if spec.is_secured else "PLAINTEXT",
        }
        if spec.mechanism_used:
            settings |= {"sasl.mechanism": spec.mechanism_used, "sasl.jaas.config": client_jaas(spec)}
        if state.kdc_port is not None:
            settings |= client_login(state)
        if state.oidc_port is not None:
            settings |= {
                "sasl.login.callback.handler.class": _LOGIN,
                "sasl.oauthbearer.token.endpoint.url": f"{identity_provider(state)}/token",
            }
        if spec.has_tls:
            settings |= _stores(state, folder, kind)
        settings |= client_access(state, kind, *_names(kind))
        write_private(folder / name, render(settings).encode())


def _stores(state: LabState, folder: Path, kind: str) -> dict[str, str]:
    trust, own = _names(kind)
    settings = {"ssl.truststore.type": kind, "ssl.truststore.location": str(folder / trust)}
    if kind != "PEM":
        settings["ssl.truststore.password"] = state.secret
    if state.spec.security == MTLS:
        settings |= {"ssl.keystore.type": kind, "ssl.keystore.location": str(folder / own)}
        settings["ssl.key.password"] = state.secret
        if kind != "PEM":
            settings["ssl.keystore.password"] = state.secret
    return settings


def _names(kind: str) -> tuple[str, str]:
    """Returns the names of trust store and key store."""
    ending = {"PKCS12": "p12", "JKS": "jks", "PEM": "pem"}[kind]
    return "ca.pem" if kind == "PEM" else f"{_TRUST}.{ending}", f"client.{ending}"


def _convert(folder: Path, source: str, target: str) -> None:
    """Makes a JKS store, which only Java writes. The password is read from a file: arguments are seen by every user."""
    password = folder / "password"
    command = [
        *(program("keytool", "keytool, a part of Java"), "-importkeystore", "-noprompt"),
        *("-srckeystore", str(folder / source), "-srcstoretype", "PKCS12", "-srcstorepass:file", str(password)),
        *("-destkeystore", str(folder / target), "-deststoretype", "JKS", "-deststorepass:file", str(password)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_KEYTOOL_SECONDS, cwd=folder)
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise LabError(f"keytool could not write {target}: {said[0] if said else 'it named no reason'}")
    (folder / target).chmod(0o600)
