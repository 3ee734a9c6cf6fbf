"""The logins at ZooKeeper: the scheme digest, and the JAAS section with which Kafka's brokers log in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kfix.adapters.properties.jaas import Jaas, JaasError, parse_jaas
from kfix.adapters.properties.reading import PropertiesReading
from kfix.adapters.zookeeper.authentication import EXTRA, MECHANISM, has_sasl
from kfix.documents.opening import read_file
from kfix.errors import UsageError

DIGEST: Final = "zookeeper.auth.digest"
JAAS: Final = "zookeeper.sasl.jaas.config"
#: The names of Java's and ZooKeeper's system properties for a file of logins and the section in it.
JAAS_FILE: Final = "java.security.auth.login.config"
SECTION: Final = "zookeeper.sasl.clientconfig"
_MODULE: Final = "DigestLoginModule"
_LARGEST: Final = 1 << 20
_COMMENT: Final = r"/\*.*?\*/|//[^\n]*"
#: Sections, and comments between them; braces in comments and quotes do not count.
_SECTIONS: Final = re.compile(
    rf"""(?>{_COMMENT})|"?(?P<name>[\w.$-]+)"?\s*\{{
    (?P<inside>(?>{_COMMENT}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^}}"'])*+)\}}""",
    re.VERBOSE | re.DOTALL,
)


def read_digest(reading: PropertiesReading) -> str:
    """Returns USER:PASSWORD, empty where there is none; adds the mistakes to the reading."""
    given = reading.get(DIGEST)
    user, _, password = given.partition(":")
    if given and not (user and password):
        reading.problem(f"{DIGEST} is not USER:PASSWORD (not shown, it may be a secret)", DIGEST)
        return ""
    return given


def read_sasl_login(reading: PropertiesReading) -> tuple[str, str] | None:
    """Returns (user, password) of SASL, None where there is none; adds the mistakes to the reading."""
    key = next(filter(reading.has, (JAAS, JAAS_FILE)), "")
    if not key:
        return None
    before = len(reading.problems)
    text = reading.get(JAAS) if key == JAAS else _section(reading)
    jaas = Jaas()
    try:
        jaas = parse_jaas(text)
    except JaasError as error:
        reading.problem(f"{key}: {error}", key)
    user, password = jaas.options.get("username", ""), jaas.options.get("password", "")
    if len(reading.problems) > before:
        return None
    if jaas.module != _MODULE:
        reading.problem(f"{key}: ZooKeeper needs the {_MODULE}; Kerberos is not supported", key)
    elif not user or not password:
        reading.problem(f"{key}: the {_MODULE} needs username and password", key)
    elif not has_sasl():
        reading.problem(f"{key}: SASL {MECHANISM} needs pure-sasl: {EXTRA}", key)
    else:
        return user, password
    return None


def _section(reading: PropertiesReading) -> str:
    path, name = Path(reading.get(JAAS_FILE)), reading.get(SECTION, default="Client")
    try:
        text = read_file(path, _LARGEST).decode("utf-8", "replace")
    except OSError as error:
        reading.problem(f"{path}: cannot be read: {(error.strerror or '').lower()}", JAAS_FILE)
        return ""
    except UsageError as error:
        reading.problem(str(error), JAAS_FILE)
        return ""
    found = next((each["inside"] for each in _SECTIONS.finditer(text) if each["name"] == name), None)
    if found is None:
        reading.problem(f"{path} has no section {name} {{ ... }};", SECTION, JAAS_FILE)
        return ""
    return found.strip()
