"""The logins at ZooKeeper: the scheme digest, and the JAAS section with which Kafka's brokers log in."""

from __future__ import annotations

from typing import Final

from kfix.core.properties.jaas import Jaas, JaasError, parse_jaas
from kfix.core.properties.jaas_file import JAAS_FILE, KAFKA_SECTION, has_section, section_of
from kfix.core.properties.reading import PropertiesReading
from kfix.core.zookeeper.authentication import EXTRA, MECHANISM, has_sasl

DIGEST: Final = "zookeeper.auth.digest"
JAAS: Final = "zookeeper.sasl.jaas.config"
#: ZooKeeper's system properties: the section of a file of logins, and whether SASL is used at all.
SECTION: Final = "zookeeper.sasl.clientconfig"
SWITCH: Final = "zookeeper.sasl.client"
_MODULE: Final = "DigestLoginModule"
_NO_KERBEROS: Final = f"Kerberos is not supported at ZooKeeper; with {SWITCH}=false it is read without a login"


def read_digest(reading: PropertiesReading) -> str:
    """Returns USER:PASSWORD, empty if there is none; adds the mistakes to the reading."""
    given = reading.get(DIGEST)
    user, _, password = given.partition(":")
    if given and not (user and password):
        reading.problem(f"{DIGEST} is not USER:PASSWORD (not shown, it may be a secret)", DIGEST)
        return ""
    return given


def read_sasl_login(reading: PropertiesReading) -> tuple[str, str] | None:
    """Returns (user, password) of SASL, None if there is none; adds the mistakes to the reading."""
    key = next(filter(reading.has, (JAAS, JAAS_FILE)), "")
    switch = reading.get(SWITCH, default="true").lower()
    if switch not in {"true", "false"}:
        reading.problem(f"{SWITCH} is true or false, not {reading.get(SWITCH)!r}", SWITCH)
    if not key or switch == "false":
        return None
    before = len(reading.problems)
    text = reading.get(JAAS) if key == JAAS else _section(reading)
    if text is None:
        return None
    jaas = Jaas()
    try:
        jaas = parse_jaas(text)
    except JaasError as error:
        reading.problem(f"{key}: {error}", key)
    user, password = jaas.options.get("username", ""), jaas.options.get("password", "")
    if len(reading.problems) > before:
        return None
    if jaas.module != _MODULE:
        reading.problem(f"{key}: ZooKeeper needs the {_MODULE}: {_NO_KERBEROS}", key)
    elif not user or not password:
        reading.problem(f"{key}: the {_MODULE} needs username and password", key)
    elif not has_sasl():
        reading.problem(f"{key}: SASL {MECHANISM} needs pure-sasl: {EXTRA}", key)
    else:
        return user, password
    return None


def _section(reading: PropertiesReading) -> str | None:
    """Returns the login modules of ZooKeeper's section; None if the file, of Kafka's clients alone, has none."""
    needed = reading.has(SECTION) or not has_section(reading, KAFKA_SECTION)
    return section_of(reading, reading.get(SECTION, default="Client"), SECTION, needed=needed)
