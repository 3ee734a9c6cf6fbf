"""The Kerberos realm of a lab with GSSAPI: its files, and the logins of brokers and of the lab's client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.protocols import USER
from kfix.lab.definition.state import folder_of
from kfix.lab.process.host import LOOPBACK

if TYPE_CHECKING:
    from pathlib import Path

    from kfix.lab.definition.state import LabState

REALM = "KFIX.LAB"
#: The first part of the brokers' principals.
SERVICE = "kafka"
_MODULE = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
_KRB5 = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1

[realms]
 {realm} = {{
  kdc = {address}:{port}
 }}

[domain_realm]
 {address} = {realm}
"""
_KDC = """[kdcdefaults]
 kdc_listen = {address}:{port}
 kdc_tcp_listen = {address}:{port}

[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  supported_enctypes = aes256-cts:normal aes128-cts:normal
  max_life = 1d
  max_renewable_life = 7d
 }}
"""


def node_principal() -> str:
    return f"{SERVICE}/{LOOPBACK.address}@{REALM}"


def client_principal(user: str = USER) -> str:
    return f"{user}@{REALM}"


def database_of(state: LabState) -> Path:
    """Returns the folder of the KDC."""
    return folder_of(state) / "kdc"


def krb5_conf(state: LabState) -> Path:
    """Returns the file for KRB5_CONFIG and `java.security.krb5.conf`."""
    return folder_of(state) / "krb5.conf"


def kdc_conf(state: LabState) -> Path:
    return folder_of(state) / "kdc.conf"


def realm_files(state: LabState) -> dict[Path, str]:
    """Returns {file: text}."""
    names = {
        "realm": REALM,
        "address": LOOPBACK.address,
        "port": str(state.kdc_port),
        "folder": str(database_of(state)),
    }
    return {krb5_conf(state): _KRB5.format(**names), kdc_conf(state): _KDC.format(**names)}


def kerberos_flags(state: LabState) -> tuple[str, ...]:
    """Returns what a JVM of the lab needs to find the KDC."""
    return (f"-Djava.security.krb5.conf={krb5_conf(state)}",) if state.kdc_port is not None else ()


def keytab_of(state: LabState, name: str) -> Path:
    """Returns the keytab of the `node`s or of the `client`."""
    return folder_of(state) / f"{name}.keytab"


def node_login(state: LabState) -> str:
    return login(state, "node", node_principal())


def client_login(state: LabState) -> dict[str, str]:
    """Returns the keys of the client properties."""
    return {
        "sasl.kerberos.service.name": SERVICE,
        "java.security.krb5.conf": str(krb5_conf(state)),
        "sasl.jaas.config": login(state, "client", client_principal()),
    }


def login(state: LabState, name: str, principal: str) -> str:
    """Returns a `sasl.jaas.config` with the key of a keytab."""
    return f'{_MODULE} keyTab="{keytab_of(state, name)}" principal="{principal}";'
