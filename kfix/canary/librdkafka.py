"""The settings of librdkafka for the same connection: Kafka's client properties under its names (docs/canary.md)."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kfix.core.errors import UsageError
from kfix.core.kafka.security import Security
from kfix.core.kerberos import Kerberos
from kfix.core.oauth.settings import OAuth, TokenError
from kfix.core.target import Target
from kfix.core.tls.settings import ENABLED, Tls, openssl_name

Settings = dict[str, Any]
#: A token is asked for again after this many seconds; one that is still valid costs no request.
_TOKEN_SECONDS: Final = 60.0


def settings_of(target: Target, within: float) -> Settings:
    """Returns the settings of every client of the canary. Raises UsageError for what librdkafka cannot do."""
    if not target.bootstrap:
        raise UsageError("a canary connects to brokers", hint="--bootstrap-server HOST:PORT")
    milliseconds = int(within * 1000)
    return {
        "bootstrap.servers": ",".join(map(str, target.bootstrap)),
        "client.id": "kfix-canary",
        "log_level": 0,
        "socket.timeout.ms": max(milliseconds, 1000),
        "socket.connection.setup.timeout.ms": max(min(milliseconds, 10_000), 1000),
        "reconnect.backoff.max.ms": 1000,
        **_security(target.security, str(target.bootstrap[0])),
    }


def _security(security: Security, where: str) -> Settings:
    found: Settings = {"security.protocol": security.protocol}
    if security.protocol.endswith("SSL"):
        found |= _tls(security.tls)
    if not security.mechanism:
        return found
    found["sasl.mechanism"] = security.mechanism
    if security.oauth is not None:
        return found | {"oauth_cb": partial(_token, security.oauth, security.username, where)}
    if security.kerberos is not None:
        return found | _kerberos(security.kerberos)
    return found | {"sasl.username": security.username, "sasl.password": security.password}


def _tls(tls: Tls) -> Settings:
    if set(tls.versions) != set(ENABLED):
        raise UsageError("kfix canary: librdkafka cannot restrict ssl.enabled.protocols", hint=_ELSE)
    older = [name for suite in tls.ciphers if (name := openssl_name(suite))]
    if tls.ciphers and len(older) != len(tls.ciphers):
        raise UsageError("kfix canary: librdkafka cannot choose ssl.cipher.suites of TLS 1.3", hint=_ELSE)
    given = {
        "ssl.ca.pem": tls.ca,
        "ssl.certificate.pem": tls.chain,
        "ssl.key.pem": tls.key,
        "ssl.key.password": tls.key_password,
        "ssl.cipher.suites": ":".join(older),
    }
    checked = "https" if tls.check_hostname else "none"
    return {"ssl.endpoint.identification.algorithm": checked, **{key: text for key, text in given.items() if text}}


_ELSE: Final = "give client properties without it, for the canary alone"


def _kerberos(kerberos: Kerberos) -> Settings:
    """Returns settings that a librdkafka without Kerberos, such as that of the wheels, refuses."""
    given = {"sasl.kerberos.principal": kerberos.principal, "sasl.kerberos.keytab": kerberos.keytab}
    own = {key: text for key, text in given.items() if text}
    return {"sasl.kerberos.service.name": kerberos.service, **own}


def _token(oauth: OAuth, user: str, where: str, _config: str) -> tuple[str, float, str, dict[str, str]]:
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - takes long to import

    from kfix.core.oauth.tokens import token_of  # noqa: PLC0415 - imports urllib

    try:
        token = token_of(oauth, _TOKEN_SECONDS, where)
    except TokenError as error:
        raise KafkaException(KafkaError(KafkaError._AUTHENTICATION, str(error))) from None  # noqa: SLF001 - its name
    return token, time.time() + _TOKEN_SECONDS, user or "kfix", dict(oauth.extensions)


def client(make: Callable[[Settings], Any], settings: Settings) -> Any:
    """Returns a client of librdkafka. Raises UsageError for a setting that this build of it refuses."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - takes long to import

    try:
        return make(settings)
    except KafkaException as refused:
        reason = refused.args[0].str() if hasattr(refused.args[0], "str") else str(refused)
        raise UsageError(f"kfix canary: librdkafka refuses the client properties: {reason}", hint=_ELSE) from None
