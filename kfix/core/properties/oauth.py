"""The keys of OAUTHBEARER: the options of its login module, and the `sasl.oauthbearer.*` keys of Kafka 3.1 and later.

Kafka 4.1 has keys for former options of the login module; librdkafka has its own names for them.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import replace

from kfix.core.oauth.settings import Claim, OAuth
from kfix.core.properties.jaas import Jaas
from kfix.core.properties.reading import PropertiesReading
from kfix.core.tls.settings import Tls

_JAAS = "sasl.jaas.config"
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
            _JAAS,
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
            reading.problem(f"sasl.jaas.config: {option} is not a number", _JAAS)
    lifetime = jaas.options.get("unsecuredLoginLifetimeSeconds", "3600")
    if not lifetime.isdigit() or not int(lifetime):
        reading.problem("sasl.jaas.config: unsecuredLoginLifetimeSeconds is not a number of seconds", _JAAS)
        return OAuth()
    if "sub" not in claims and not reading.problems:
        reading.problem(
            f"OAUTHBEARER needs {_URL} (or, for tests, unsecuredLoginStringClaim_sub in sasl.jaas.config)",
            _JAAS,
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
            reading.problem("an extension of OAUTHBEARER has a name of letters, other than auth", _JAAS)
    return tuple(found.items())


def _endpoint_tls(reading: PropertiesReading, jaas: Jaas) -> Tls:
    """Returns the endpoint's TLS settings: from `ssl.*` options of the login module, else the system's.

    As in Kafka, the trust store of the brokers does not apply to an identity provider.
    """
    from kfix.core.properties.tls import read_tls  # noqa: PLC0415 - imports ssl

    at = reading.values.get(_JAAS)
    own = {key: replace(at, value=value) for key, value in jaas.options.items() if at is not None}
    inner = PropertiesReading(reading.path, {key: value for key, value in own.items() if key.startswith("ssl.")})
    tls = read_tls(inner)
    reading.problems.extend(inner.problems)
    return tls
