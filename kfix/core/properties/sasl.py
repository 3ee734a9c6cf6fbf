"""The `sasl.*` keys of a client properties file."""

from __future__ import annotations

from kfix.core.kafka.security import Security
from kfix.core.oauth.settings import Aws, OAuth
from kfix.core.properties.jaas import Jaas, JaasError, parse_jaas
from kfix.core.properties.jaas_file import JAAS_FILE, KAFKA_SECTION, section_of
from kfix.core.properties.reading import PropertiesReading
from kfix.core.tls.settings import Tls

OAUTHBEARER, AWS, GSSAPI = "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, GSSAPI, AWS)
_JAAS = "sasl.jaas.config"
_NAMES = ("sasl.mechanism", "sasl.mechanisms")
_CALLBACK = "sasl.client.callback.handler.class"
_AWS_CALLBACK = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
_HANDLER = "sasl.login.callback.handler.class"
_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    OAUTHBEARER: "OAuthBearerLoginModule",
    AWS: "IAMLoginModule",
    GSSAPI: "Krb5LoginModule",
}


def read_sasl(reading: PropertiesReading, protocol: str, tls: Tls) -> Security:
    """Returns the settings with their mechanism; adds the mistakes to the reading."""
    mechanism = reading.get(*_NAMES, default=GSSAPI)
    if mechanism not in MECHANISMS:
        reading.problem(f"sasl.mechanism {mechanism} is not supported, use one of {', '.join(MECHANISMS)}", *_NAMES)
        return Security(protocol, tls=tls)
    jaas = _jaas(reading, mechanism)
    if reading.has(_CALLBACK) and (mechanism, reading.get(_CALLBACK)) != (AWS, _AWS_CALLBACK):
        reading.problem(f"{_CALLBACK} is not supported: it names a class of Java", _CALLBACK)
    if mechanism == OAUTHBEARER:
        from kfix.core.properties.oauth import read_oauth  # noqa: PLC0415 - only this mechanism needs it

        oauth = read_oauth(reading, jaas)
        return Security(protocol, mechanism, oauth.user, tls=tls, oauth=oauth)
    if mechanism == AWS:
        return _aws(protocol, tls, jaas)
    if reading.has(_HANDLER):
        reading.problem(f"{_HANDLER} is not supported: it names a class of Java", _HANDLER)
    if mechanism == GSSAPI:
        from kfix.core.properties.kerberos import read_kerberos  # noqa: PLC0415 - only this mechanism needs it

        kerberos = read_kerberos(reading, jaas)
        return Security(protocol, mechanism, kerberos.short_name, tls=tls, kerberos=kerberos)
    username = jaas.options.get("username") or reading.get("sasl.username")
    password = jaas.options.get("password") or reading.get("sasl.password")
    if not username and not reading.problems:
        reading.problem(f"{mechanism} needs sasl.jaas.config (or sasl.username and sasl.password)", "sasl.jaas.config")
    return Security(protocol, mechanism, username, password, tls=tls)


def _aws(protocol: str, tls: Tls, jaas: Jaas) -> Security:
    """Returns the settings of AWS MSK IAM: AWS's library makes a token, which the same port accepts as OAUTHBEARER."""
    oauth = OAuth(aws=Aws(jaas.options.get("awsProfileName", ""), jaas.options.get("awsRoleArn", "")))
    return Security(protocol, OAUTHBEARER, tls=tls, oauth=oauth)


def _jaas(reading: PropertiesReading, mechanism: str) -> Jaas:
    key, text = _JAAS, reading.get(_JAAS)
    if not text and reading.has(JAAS_FILE):
        key, text = JAAS_FILE, section_of(reading, KAFKA_SECTION, needed=False) or ""
    try:
        found = parse_jaas(text)
    except JaasError as error:
        reading.problem(f"{key}: {error}", key)
        return Jaas()
    expected = _MODULES[mechanism]
    if found.module and found.module != expected:
        reading.problem(f"{key}: {mechanism} needs the {expected}", key)
    return found
