"""The settings of a secured lab: its certificates, the mechanism of its second listener, and its authorizer.

Brokers talk to each other over the plaintext listener, as the lab's own clients do, so that what is tried over the
secured one breaks nothing else. Controllers have one listener, which is secured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.protocols import CONTROLLER_USER, GSSAPI, MTLS, OAUTHBEARER, SCRAM
from kfix.lab.definition.realm import SERVICE, node_login
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import folder_of
from kfix.lab.process.host import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.lab.definition.spec import LabSpec
    from kfix.lab.definition.state import LabState

CONTROLLER = "controller"
#: Who the tokens of the lab's identity provider are for.
AUDIENCE = "kafka"
#: {format of the stores: name of the client properties with them}; without TLS there is the first one only.
CLIENT_FILES = {"PKCS12": "client.properties", "JKS": "client-jks.properties", "PEM": "client-pem.properties"}
_SECURITY = "org.apache.kafka.common.security"
_PLAIN = f"{_SECURITY}.plain.PlainLoginModule required"
_SCRAM = f"{_SECURITY}.scram.ScramLoginModule required"
_OAUTH = f"{_SECURITY}.oauthbearer"
_BEARER = f"{_OAUTH}.OAuthBearerLoginModule required"
_AUTHORIZERS = {
    KRAFT: "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "zk": "kafka.security.authorizer.AclAuthorizer",
}
#: The principal of a client of the plaintext listener: brokers, and the lab itself.
_UNNAMED = "User:ANONYMOUS"


def secured_settings(state: LabState) -> dict[str, str]:
    """Returns what all nodes of a secured lab have in common, nothing without `--security`."""
    spec = state.spec
    if not spec.is_secured:
        return {}
    settings = _tls(state) if spec.has_tls else {}
    if spec.mechanism_used:
        settings |= _sasl(state) | _identity_provider(state)
        if spec.recipe.mode == KRAFT:
            settings |= _controllers(state)
    if spec.acls:
        supers = [_UNNAMED]
        if spec.mechanism_used:
            supers.append(f"User:{CONTROLLER_USER}")
        if spec.security == MTLS:
            supers.append("User:CN=node")
        settings |= {"authorizer.class.name": _AUTHORIZERS[spec.recipe.mode], "super.users": ";".join(supers)}
    return settings


def plain_jaas(user: str, password: str) -> str:
    return f'{_PLAIN} username="{user}" password="{password}";'


def client_jaas(spec: LabSpec) -> str:
    """Returns the login of the lab's user, as a client's `sasl.jaas.config`."""
    user, password = spec.sasl or ("", "")
    if spec.mechanism_used in SCRAM:
        return f'{_SCRAM} username="{user}" password="{password}";'
    if spec.mechanism_used == OAUTHBEARER and spec.recipe.validates_tokens:
        return f'{_BEARER} clientId="{user}" clientSecret="{password}";'
    if spec.mechanism_used == OAUTHBEARER:
        return f'{_BEARER} unsecuredLoginStringClaim_sub="{user}";'
    return plain_jaas(user, password)


def _tls(state: LabState) -> dict[str, str]:
    folder = folder_of(state)
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(folder / "node.p12"),
        "ssl.keystore.password": state.secret,
        "ssl.key.password": state.secret,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(folder / "truststore.p12"),
        "ssl.truststore.password": state.secret,
        "ssl.client.auth": "required" if state.spec.security == MTLS else "none",
    }


def _sasl(state: LabState) -> dict[str, str]:
    spec = state.spec
    user, password = spec.sasl or ("", "")
    listener = f"listener.name.{spec.listener.lower()}"
    mechanism = spec.mechanism_used
    own = {"PLAIN": f'{_PLAIN} user_{user}="{password}";'}
    return {f"{listener}.sasl.enabled.mechanisms": mechanism} | _of_listener(state, listener, own)


def _of_listener(state: LabState, listener: str, own: Mapping[str, str]) -> dict[str, str]:
    """Returns how a listener logs clients in with the lab's mechanism; `own` has logins that differ by listener."""
    spec, mechanism = state.spec, state.spec.mechanism_used
    usual = {OAUTHBEARER: f"{_BEARER};", GSSAPI: node_login(state)} | dict.fromkeys(SCRAM, f"{_SCRAM};")
    prefix = f"{listener}.{mechanism.lower()}"
    settings = {f"{prefix}.sasl.jaas.config": (usual | dict(own))[mechanism]}
    if mechanism == OAUTHBEARER and spec.recipe.validates_tokens:
        settings[f"{prefix}.sasl.server.callback.handler.class"] = f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
    if mechanism == GSSAPI:
        settings["sasl.kerberos.service.name"] = SERVICE
    return settings


def identity_provider(state: LabState) -> str:
    """Returns the address of the lab's identity provider, empty where it has none."""
    return f"http://{LOOPBACK.address}:{state.oidc_port}" if state.oidc_port is not None else ""


def _identity_provider(state: LabState) -> dict[str, str]:
    issuer = identity_provider(state)
    if not issuer:
        return {}
    return {
        "sasl.oauthbearer.jwks.endpoint.url": f"{issuer}/jwks",
        "sasl.oauthbearer.expected.issuer": issuer,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }


def _controllers(state: LabState) -> dict[str, str]:
    """Controllers and brokers log in at a controller with PLAIN, and clients with the lab's mechanism."""
    spec, secret = state.spec, state.secret
    user, password = spec.sasl or ("", "")
    listener = f"listener.name.{CONTROLLER}"
    mechanism = spec.mechanism_used
    login = f'{_PLAIN} username="{CONTROLLER_USER}" password="{secret}" user_{CONTROLLER_USER}="{secret}"'
    settings = {
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"{listener}.sasl.enabled.mechanisms": ",".join(dict.fromkeys(("PLAIN", mechanism))),
        f"{listener}.plain.sasl.jaas.config": f'{login} user_{user}="{password}";',
    }
    if mechanism != "PLAIN":
        settings |= _of_listener(state, listener, {})
    return settings
