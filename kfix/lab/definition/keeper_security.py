"""The settings of a lab whose ZooKeeper is secured: those of its servers, and those of their clients.

The servers keep their plain port for the lab itself. With TLS they have a second one, for brokers and for kfix. With
`digest` and `sasl`, brokers log in with SASL and protect their znodes (`zookeeper.set.acl`); Kafka knows no digest.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.private import write_private
from kfix.lab.definition.protocols import DIGEST, MTLS, SASL
from kfix.lab.definition.state import folder_of

if TYPE_CHECKING:
    from kfix.lab.definition.state import LabState, ZooKeeperDef

#: Who the brokers are to ZooKeeper, and who may do everything there.
BROKERS, SUPER = "kafka", "super"
_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule required"
_JAAS = "zookeeper.jaas"


def has_acls(state: LabState) -> bool:
    return state.spec.zookeeper_security in {DIGEST, SASL}


def super_digest(state: LabState) -> str:
    """Returns USER:PASSWORD of who may do everything, empty where nothing is protected."""
    return f"{SUPER}:{state.secret}" if has_acls(state) else ""


def server_settings(state: LabState, node: ZooKeeperDef, address: str) -> dict[str, str]:
    """Returns what a secured server has besides."""
    if has_acls(state):
        hidden = base64.b64encode(hashlib.sha1(super_digest(state).encode(), usedforsecurity=False).digest()).decode()
        return {
            "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            "DigestAuthenticationProvider.superDigest": f"{SUPER}:{hidden}",
        }
    if not state.spec.has_keeper_tls:
        return {}
    folder = folder_of(state)
    return {
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "secureClientPort": str(node.secure_port),
        "secureClientPortAddress": address,
        "ssl.keyStore.location": str(folder / "node.p12"),
        "ssl.keyStore.password": state.secret,
        "ssl.trustStore.location": str(folder / "truststore.p12"),
        "ssl.trustStore.password": state.secret,
        "ssl.clientAuth": "need" if state.spec.zookeeper_security == MTLS else "none",
        # The certificate of a client names a user, and no host.
        "ssl.hostnameVerification": "false",
    }


def broker_access(state: LabState) -> dict[str, str]:
    """Returns how a broker is let in by ZooKeeper, besides `jaas_flags`."""
    if state.spec.has_keeper_tls:
        return tls_keys(state, "PKCS12", "truststore.p12", "node.p12")
    return {"zookeeper.set.acl": "true"} if has_acls(state) else {}


def client_access(state: LabState, kind: str, trust: str, own: str) -> dict[str, str]:
    """Returns how kfix is let in, for its client properties; `trust` and `own` are stores of that kind."""
    if state.spec.has_keeper_tls:
        return tls_keys(state, kind, trust, own)
    if state.spec.zookeeper_security == DIGEST:
        return {"zookeeper.auth.digest": super_digest(state)}
    if state.spec.zookeeper_security == SASL:
        return {"zookeeper.sasl.jaas.config": f'{_MODULE} username="{BROKERS}" password="{state.secret}";'}
    return {}


def tls_keys(state: LabState, kind: str, trust: str, own: str) -> dict[str, str]:
    """Returns the keys as Kafka's brokers and its `--zk-tls-config-file` name them."""
    folder, prefix = folder_of(state), "zookeeper.ssl"
    settings = {
        f"{prefix}.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        f"{prefix}.truststore.type": kind,
        f"{prefix}.truststore.location": str(folder / trust),
    }
    if kind != "PEM":
        settings[f"{prefix}.truststore.password"] = state.secret
    if state.spec.zookeeper_security == MTLS:
        settings |= {f"{prefix}.keystore.type": kind, f"{prefix}.keystore.location": str(folder / own)}
        settings[f"{prefix}.keystore.password"] = state.secret
    return settings


def write_jaas(state: LabState) -> None:
    """Writes the logins of servers and brokers, which Java reads from a file."""
    text = (
        f'Server {{\n  {_MODULE} user_{BROKERS}="{state.secret}";\n}};\n'
        f'Client {{\n  {_MODULE} username="{BROKERS}" password="{state.secret}";\n}};\n'
    )
    write_private(_jaas_file(state), text.encode())


def jaas_flags(state: LabState) -> tuple[str, ...]:
    return (f"-Djava.security.auth.login.config={_jaas_file(state)}",) if has_acls(state) else ()


def _jaas_file(state: LabState) -> Path:
    return folder_of(state) / _JAAS
