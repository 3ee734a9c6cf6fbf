"""Kafka's client properties under the names of librdkafka, which accepts each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kfix.canary.librdkafka import client, settings_of
from kfix.core.access import Access
from kfix.core.errors import UsageError
from kfix.core.kafka.security import Security
from kfix.core.kerberos import Kerberos
from kfix.core.oauth.settings import OAuth
from kfix.core.target import Target, make_target
from kfix.core.tls.settings import Tls
from tests.each import for_each

PLAIN = make_target("h1:9092,h2:9092", None)


def target(tmp_path: Path, text: str) -> Target:
    file = tmp_path / "client.properties"
    file.write_text(text)
    return Access("h:1", command_config=file).target()


@for_each("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_and_a_password(mechanism: str, tmp_path: Path) -> None:
    module = "PlainLoginModule" if mechanism == "PLAIN" else "ScramLoginModule"
    package = "plain" if mechanism == "PLAIN" else "scram"
    found = settings_of(
        target(
            tmp_path,
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config="
            f'org.apache.kafka.common.security.{package}.{module} required username="ann" password="geheim";\n',
        ),
        5,
    )
    assert found["security.protocol"] == "SASL_PLAINTEXT"
    names = ("sasl.mechanism", "sasl.username", "sasl.password")
    assert [found[name] for name in names] == [mechanism, "ann", "geheim"]
    client(Producer, found)


def test_addresses_and_limits() -> None:
    found = settings_of(PLAIN, 2.5)
    assert (found["bootstrap.servers"], found["socket.timeout.ms"]) == ("h1:9092,h2:9092", 2500)
    client(Producer, found)


def secured(**settings: Any) -> Target:
    return replace(PLAIN, security=Security(**settings))


def test_a_token_comes_from_the_same_source() -> None:
    claims = (("sub", "ann"),)
    found = settings_of(secured(protocol="SASL_SSL", mechanism="OAUTHBEARER", oauth=OAuth(claims=claims)), 5)
    token, _, principal, extensions = found["oauth_cb"]("")
    assert token.count(".") == 2
    assert (principal, extensions) == ("kfix", {})


@for_each(
    "tls, word",
    [(Tls(versions=("TLSv1.2",)), "ssl.enabled.protocols"), (Tls(ciphers=("TLS_AES_256_GCM_SHA384",)), "TLS 1.3")],
)
def test_what_librdkafka_cannot_do_is_refused_in_one_line(tls: Tls, word: str) -> None:
    with pytest.raises(UsageError, match=word) as refused:
        settings_of(secured(protocol="SSL", tls=tls), 5)
    assert "\n" not in str(refused.value)


def test_kerberos_is_refused_by_a_librdkafka_without_it() -> None:
    kerberos = secured(protocol="SASL_PLAINTEXT", mechanism="GSSAPI", kerberos=Kerberos(keytab="/k"))
    with pytest.raises(UsageError, match=r"librdkafka refuses the client properties: .*GSSAPI"):
        client(Producer, settings_of(kerberos, 5))


def test_a_host_name_that_is_not_checked_and_older_suites() -> None:
    suite = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
    found = settings_of(secured(protocol="SSL", tls=Tls(check_hostname=False, ciphers=(suite,))), 5)
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert found["ssl.cipher.suites"] == "ECDHE-RSA-AES256-GCM-SHA384"
    client(Producer, found)
