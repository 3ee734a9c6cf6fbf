"""The keys of GSSAPI: the options of Java's Krb5LoginModule, `sasl.kerberos.*`, and librdkafka's names for them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kfix.core.kerberos.settings import EXTRA, Kerberos, has_kerberos
from kfix.core.properties.jaas import Jaas
from kfix.core.properties.reading import PropertiesReading

#: The name of Java's system property.
CONFIG: Final = "java.security.krb5.conf"
_JAAS: Final = "sasl.jaas.config"
_SERVICE: Final = "sasl.kerberos.service.name"
_PRINCIPAL: Final = "sasl.kerberos.principal"
_KEYTAB: Final = "sasl.kerberos.keytab"


def read_kerberos(reading: PropertiesReading, jaas: Jaas) -> Kerberos:
    """Returns the source of the ticket; adds the mistakes to the reading."""
    options = jaas.options
    service, in_jaas = reading.get(_SERVICE), options.get("serviceName", "")
    if service and in_jaas and service != in_jaas:
        reading.problem(f"{_SERVICE} and serviceName in {_JAAS} differ", _SERVICE)
    found = Kerberos(
        service=service or in_jaas or "kafka",
        principal=options.get("principal") or reading.get(_PRINCIPAL),
        keytab=_keytab(reading, jaas),
        uses_cache=_is_true(options.get("useTicketCache", "")),
        cache=options.get("ticketCache", ""),
        config=reading.get(CONFIG),
    )
    if not reading.problems:
        _check(reading, found)
    return found


def _keytab(reading: PropertiesReading, jaas: Jaas) -> str:
    if not jaas.module:
        return reading.get(_KEYTAB)
    if not _is_true(jaas.options.get("useKeyTab", "")):
        return ""
    keytab = jaas.options.get("keyTab", "").removeprefix("FILE:").removeprefix("file:")
    if not keytab:
        reading.problem(f"{_JAAS}: useKeyTab=true needs keyTab, the path of the keytab", _JAAS)
    return keytab


def _check(reading: PropertiesReading, found: Kerberos) -> None:
    if not found.keytab and not found.uses_cache:
        reading.problem(
            f"GSSAPI needs {_JAAS} with the Krb5LoginModule: useTicketCache=true, or useKeyTab=true with keyTab and "
            "principal",
            _JAAS,
            "sasl.mechanism",
            "sasl.mechanisms",
        )
    elif found.keytab and not found.principal:
        reading.problem("GSSAPI needs the principal whose key is in the keytab", _JAAS, _KEYTAB)
    elif found.config and not Path(found.config).is_file():
        reading.problem(f"{CONFIG}: {found.config} is not a file", CONFIG)
    elif not has_kerberos():
        reading.problem(f"GSSAPI needs the extra kerberos: {EXTRA}", "sasl.mechanism", "sasl.mechanisms", _JAAS)


def _is_true(word: str) -> bool:
    return word.lower() in {"true", "yes"}
