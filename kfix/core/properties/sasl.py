"""The `sasl.*` keys of a client properties file, of every mechanism."""

import re
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import Final

from kfix.core.kafka.security import Security
from kfix.core.kerberos import EXTRA, Kerberos, has_kerberos
from kfix.core.oauth.settings import Aws, Claim, OAuth
from kfix.core.properties.jaas import JAAS_FILE, KAFKA_SECTION, Jaas, JaasError, parse_jaas, section_of
from kfix.core.properties.parsing import PropertiesReading
from kfix.core.tls.settings import Tls

# The keys of GSSAPI: the options of Java's Krb5LoginModule, `sasl.kerberos.*`, and librdkafka's names for them.

#: The name of Java's system property.
CONFIG: Final = "java.security.krb5.conf"
_KERBEROS_JAAS: Final = "sasl.jaas.config"
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
        reading.problem(f"{_JAAS}: useKeyTab=true needs keyTab, the path of the keytab", _KERBEROS_JAAS)
    return keytab


def _check(reading: PropertiesReading, found: Kerberos) -> None:
    if not found.keytab and not found.uses_cache:
        reading.problem(
            f"GSSAPI needs {_JAAS} with the Krb5LoginModule: useTicketCache=true, or useKeyTab=true with keyTab and "
            "principal",
            _KERBEROS_JAAS,
            "sasl.mechanism",
            "sasl.mechanisms",
        )
    elif found.keytab and not found.principal:
        reading.problem("GSSAPI needs the principal whose key is in the keytab", _KERBEROS_JAAS, _KEYTAB)
    elif found.config and not Path(found.config).is_file():
        reading.problem(f"{CONFIG}: {found.config} is not a file", CONFIG)
    elif not has_kerberos():
        keys = ("sasl.mechanism", "sasl.mechanisms", _KERBEROS_JAAS)
        reading.problem(f"GSSAPI needs the extra kerberos: {EXTRA}", *keys)


def _is_true(word: str) -> bool:
    return word.lower() in {"true", "yes"}


# The keys of OAUTHBEARER: the options of its login module, and the `sasl.oauthbearer.*` keys of Kafka 3.1 and later.
#
# Kafka 4.1 has keys for former options of the login module; librdkafka has its own names for them.

_OAUTH_JAAS = "sasl.jaas.config"
_URL = "sasl.oauthbearer.token.endpoint.url"
_HANDLER = "sasl.login.callback.handler.class"
_RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
_VALIDATOR = "sasl.oauthbearer.jwt.validator.class"
_METHOD = "sasl.oauthbearer.method"
_ID = ("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id")
_SECRET = ("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret")
_HANDLERS = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")
_RETRIEVERS = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
_PACKAGE = "org.apache.kafka.common.security.oauthbearer."
_CLAIM = re.compile(r"unsecuredLogin(String|Number|List)Claim_(.+)")
_EXTENSION = re.compile(r"(?:unsecuredLoginExtension_|extension_)(.+)")
#: RFC 7628, 3.1; "auth" is the token itself.
_EXTENSION_NAME = re.compile(r"(?!auth$)[A-Za-z]+")


def read_oauth(reading: PropertiesReading, jaas: Jaas) -> OAuth:
    """Returns the source of the token; adds the mistakes to the reading."""
    _check_classes(reading)
    options = jaas.options
    extensions = _extensions(reading, jaas)
    url = reading.get(_URL)
    if not url:
        return _unsecured(reading, jaas, extensions)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return OAuth(file=urllib.parse.unquote(parts.path), extensions=extensions)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        reading.problem(f"{_URL} is not an address: expected https://HOST/PATH or file:///PATH", _URL)
        return OAuth()
    client, secret = reading.get(*_ID) or options.get("clientId", ""), reading.get(*_SECRET)
    secret = secret or options.get("clientSecret", "")
    if not client or not secret:
        reading.problem(
            "OAUTHBEARER needs clientId and clientSecret in sasl.jaas.config "
            "(or sasl.oauthbearer.client.credentials.client.id and .secret)",
            _OAUTH_JAAS,
            _URL,
        )
    return OAuth(
        endpoint=url,
        client_id=client,
        client_secret=secret,
        scope=reading.get("sasl.oauthbearer.scope") or options.get("scope", ""),
        quoted=reading.get("sasl.oauthbearer.header.urlencode").lower() == "true",
        extensions=extensions,
        tls=_endpoint_tls(reading, jaas) if parts.scheme == "https" else Tls(),
    )


def _check_classes(reading: PropertiesReading) -> None:
    for key, known in ((_HANDLER, _HANDLERS), (_RETRIEVER, _RETRIEVERS)):
        class_name = reading.get(key)
        if class_name and not (class_name.startswith(_PACKAGE) and class_name.rpartition(".")[2] in known):
            reading.problem(f"{key} {class_name} is not supported, use one of {', '.join(known)} of Kafka", key)
    if reading.has(_VALIDATOR) and not reading.get(_VALIDATOR).startswith(_PACKAGE):
        reading.problem(f"{_VALIDATOR} is not supported: it names a class of Java", _VALIDATOR)
    if reading.get(_METHOD, default="oidc").lower() not in {"oidc", "default"}:
        reading.problem(f"{_METHOD} is oidc or default", _METHOD)


def _unsecured(reading: PropertiesReading, jaas: Jaas, extensions: tuple[tuple[str, str], ...]) -> OAuth:
    """Returns the settings of a token without a signature, as Kafka's default login module makes it."""
    claims: dict[str, Claim] = {}
    for option, value in jaas.options.items():
        match = _CLAIM.fullmatch(option)
        if match is None:
            continue
        kind, name = match.groups()
        try:
            claims[name] = float(value) if kind == "Number" else _listed(value) if kind == "List" else value
        except ValueError:
            reading.problem(f"sasl.jaas.config: {option} is not a number", _OAUTH_JAAS)
    lifetime = jaas.options.get("unsecuredLoginLifetimeSeconds", "3600")
    if not lifetime.isdigit() or not int(lifetime):
        reading.problem("sasl.jaas.config: unsecuredLoginLifetimeSeconds is not a number of seconds", _OAUTH_JAAS)
        return OAuth()
    if "sub" not in claims and not reading.problems:
        reading.problem(
            f"OAUTHBEARER needs {_URL} (or, for tests, unsecuredLoginStringClaim_sub in sasl.jaas.config)",
            _OAUTH_JAAS,
            "sasl.mechanism",
        )
    return OAuth(claims=tuple(claims.items()), lifetime=int(lifetime), extensions=extensions)


def _listed(value: str) -> tuple[str, ...]:
    """Splits at the first character, as Kafka does: `,one,two`."""
    return tuple(value[1:].split(value[0])) if value else ()


def _extensions(reading: PropertiesReading, jaas: Jaas) -> tuple[tuple[str, str], ...]:
    found = {m[1]: value for option, value in jaas.options.items() if (m := _EXTENSION.fullmatch(option))}
    for part in reading.items("sasl.oauthbearer.extensions"):
        name, _, value = part.partition("=")
        found[name] = value
    for name, value in found.items():
        if not _EXTENSION_NAME.fullmatch(name) or "\x01" in value:
            reading.problem("an extension of OAUTHBEARER has a name of letters, other than auth", _OAUTH_JAAS)
    return tuple(found.items())


def _endpoint_tls(reading: PropertiesReading, jaas: Jaas) -> Tls:
    """Returns the endpoint's TLS settings: from `ssl.*` options of the login module, else the system's.

    As in Kafka, the trust store of the brokers does not apply to an identity provider.
    """
    from kfix.core.properties.tls import read_tls  # noqa: PLC0415 - imports ssl

    at = reading.values.get(_OAUTH_JAAS)
    own = {key: replace(at, value=value) for key, value in jaas.options.items() if at is not None}
    inner = PropertiesReading(reading.path, {key: value for key, value in own.items() if key.startswith("ssl.")})
    tls = read_tls(inner)
    reading.problems.extend(inner.problems)
    return tls


# The `sasl.*` keys of a client properties file.

OAUTHBEARER, AWS, GSSAPI = "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, GSSAPI, AWS)
_JAAS = "sasl.jaas.config"
_NAMES = ("sasl.mechanism", "sasl.mechanisms")
_CALLBACK = "sasl.client.callback.handler.class"
_AWS_CALLBACK = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
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
        oauth = read_oauth(reading, jaas)
        return Security(protocol, mechanism, oauth.user, tls=tls, oauth=oauth)
    if mechanism == AWS:
        return _aws(protocol, tls, jaas)
    if reading.has(_HANDLER):
        reading.problem(f"{_HANDLER} is not supported: it names a class of Java", _HANDLER)
    if mechanism == GSSAPI:
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
