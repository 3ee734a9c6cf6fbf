"""The keys of a client properties file: those that kfix uses, those that mean nothing to it, and those it cannot
honour.

The names are those of AdminClientConfig, ProducerConfig and ConsumerConfig of Kafka 2.7.1, 3.9.2 and 4.3.1, and
librdkafka's names for the same.
"""

import difflib
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kfix.core.properties.parsing import SHOWN_KEY, Property

_USED: Final = """
    bootstrap.servers config.providers security.protocol zookeeper.connect
    sasl.mechanism sasl.mechanisms sasl.jaas.config sasl.username sasl.password
    sasl.login.callback.handler.class sasl.client.callback.handler.class
    sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.scope
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.method sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.extensions
    ssl.protocol ssl.enabled.protocols ssl.cipher.suites ssl.endpoint.identification.algorithm
    ssl.keystore.type ssl.keystore.location ssl.keystore.password ssl.keystore.key ssl.keystore.certificate.chain
    ssl.key.password ssl.truststore.type ssl.truststore.location ssl.truststore.password ssl.truststore.certificates
    zookeeper.clientCnxnSocket zookeeper.ssl.client.enable zookeeper.ssl.protocol zookeeper.ssl.enabled.protocols
    zookeeper.ssl.cipher.suites zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.type
    zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password zookeeper.ssl.truststore.type
    zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password zookeeper.auth.digest
    zookeeper.sasl.jaas.config zookeeper.sasl.clientconfig java.security.auth.login.config
    sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.keytab java.security.krb5.conf
    zookeeper.sasl.client
    ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem ssl.key.location ssl.key.pem
"""
#: Known to Kafka's clients, and without a meaning for kfix: it has its own requests, and no login thread.
_WITHOUT_MEANING: Final = """
    acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
    bootstrap.controllers broker.address.family buffer.memory check.crcs client.dns.lookup client.id client.rack
    compression.gzip.level compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms
    default.api.timeout.ms delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes internal.auto.downgrade.txn.commit
    internal.leave.group.on.close internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
    key.serializer linger.ms log_level max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes
    max.poll.interval.ms max.poll.records max.request.size metadata.max.age.ms metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms
    retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes session.timeout.ms share.acknowledgement.mode
    share.acquire.mode socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms socket.keepalive.enable
    socket.timeout.ms transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.deserializer
    value.serializer sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    zookeeper.connection.timeout.ms zookeeper.max.in.flight.requests zookeeper.session.timeout.ms zookeeper.set.acl
    zookeeper.sync.time.ms ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.secure.random.implementation
"""
_JAVA_ONLY: Final = "it names a class of Java; kfix uses OpenSSL and its own SASL"
_REVOCATION: Final = "kfix does not check the revocation of certificates"
#: {key: why it is not supported}; with an empty value such a key is accepted.
_UNSUPPORTED: Final = {
    "ssl.engine.factory.class": _JAVA_ONLY,
    "ssl.provider": _JAVA_ONLY,
    "security.providers": _JAVA_ONLY,
    "sasl.login.class": _JAVA_ONLY,
    "enable.ssl.certificate.verification": "kfix always verifies certificates; give the CA in ssl.truststore.*",
    **dict.fromkeys(("zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable"), _REVOCATION),
}
#: Keys that read other sources than the file: files and variables of the user, and tokens in the user's name.
_SECRETS: Final = {"config.providers", "java.security.auth.login.config"}
_TOKEN: Final = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - the name of a key
_MECHANISMS: Final = {"sasl.mechanism", "sasl.mechanisms"}
USED: Final = frozenset(_USED.split())
_KNOWN: Final = USED | frozenset(_WITHOUT_MEANING.split())
#: An unknown key with this prefix may have been meant to make the connection safer.
_ASSERTION: Final = "sasl.oauthbearer.assertion."
OF_ZOOKEEPER: Final = (
    *("zookeeper.ssl.", "zookeeper.sasl.", "zookeeper.auth.", "zookeeper.clientCnxnSocket"),
    "java.security.auth.",
)
_OF_SECURITY: Final = ("ssl.", "sasl.", "security.", "java.security.", *OF_ZOOKEEPER)


def key_problems(values: Mapping[str, Property], path: Path) -> Iterator[str]:
    """Yields one line for each key that kfix cannot honour, and for each unknown key of security."""
    for key, given in values.items():
        where = f"{path}:{given.line}:{given.column}"
        if key in _UNSUPPORTED and given.value and not _is_off(key, given.value):
            yield f"{where}: {key} is not supported: {_UNSUPPORTED[key]}"
        elif key.startswith(_ASSERTION):
            yield f"{where}: {key} is not supported: kfix requests a token with the client's id and secret"
        elif _is_unknown(key) and key.startswith(_OF_SECURITY):
            yield f"{where}: {_unknown(key)}"


def foreign_secrets(values: Mapping[str, Property], path: Path) -> Iterator[str]:
    """Yields one line for each key with which an untrusted inventory's properties would read secrets of this user."""
    for key, given in values.items():
        is_file = key == _TOKEN and urllib.parse.urlsplit(given.value).scheme == "file"
        is_aws = key in _MECHANISMS and given.value == "AWS_MSK_IAM"
        if given.value and (key in _SECRETS or is_file or is_aws):
            yield (
                f"{path}:{given.line}:{given.column}: {key} reads a secret of yours, and you have not trusted the "
                "inventory that names this file: kfix context trust INVENTORY"
            )


def key_notes(values: Mapping[str, Property], path: Path) -> Iterator[str]:
    """Yields one line for each other unknown key, which Kafka's own tools only warn of."""
    for key, given in values.items():
        if _is_unknown(key) and not key.startswith(_OF_SECURITY):
            yield f"{path}:{given.line}:{given.column}: {_unknown(key)}; it is not used"


def _is_off(key: str, value: str) -> bool:
    return _UNSUPPORTED[key] == _REVOCATION and value.lower() == "false"


def _is_unknown(key: str) -> bool:
    return key not in _KNOWN and key not in _UNSUPPORTED and not key.startswith("config.providers.")


def _unknown(key: str) -> str:
    if not SHOWN_KEY.fullmatch(key):
        return "unknown key (not shown, it may be a part of a secret)"
    close = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.85)
    return f"unknown key {key}" + (f", did you mean {close[0]}?" if close else "")
