"""GSSAPI in client properties: the options of Java's Krb5LoginModule, JAAS files, and librdkafka's names."""

from __future__ import annotations

import pytest

from kfix.core.errors import InvalidFileError
from kfix.core.kerberos import Kerberos
from kfix.core.properties.load import load_client_properties, load_security
from tests.each import for_each

HEAD = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n"
MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
KEYTAB = 'useKeyTab=true storeKey=true keyTab="/k/kfix.keytab" principal="kfix/host@REALM"'


def jaas(options):
    return f"sasl.jaas.config={MODULE} {options};\n"


def load(tmp_path, text, head=HEAD):
    path = tmp_path / "client.properties"
    path.write_text(head + text)
    return load_security(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (jaas(KEYTAB), Kerberos("kafka", "kfix/host@REALM", "/k/kfix.keytab")),
        (jaas(KEYTAB.replace("/k/", "FILE:/k/")), Kerberos("kafka", "kfix/host@REALM", "/k/kfix.keytab")),
        (jaas('useTicketCache=true ticketCache="/c"'), Kerberos("kafka", uses_cache=True, cache="/c")),
        (jaas("useTicketCache=true serviceName=broker"), Kerberos("broker", uses_cache=True)),
        (jaas(f"useTicketCache=true {KEYTAB}"), Kerberos("kafka", "kfix/host@REALM", "/k/kfix.keytab", True)),
        (
            "sasl.kerberos.service.name=k\nsasl.kerberos.principal=ann@R\nsasl.kerberos.keytab=/k/ann\n",
            Kerberos("k", "ann@R", "/k/ann"),
        ),
    ],
)
def test_the_ticket_comes_from_where_the_file_names_it(tmp_path, text, expected):
    assert load(tmp_path, text).kerberos == expected


def test_the_principal_of_an_authorizer_is_the_first_part_of_the_name(tmp_path):
    found = load(tmp_path, jaas(KEYTAB))
    assert (found.principal, found.recorded.user) == ("User:kfix", "kfix")
    assert load(tmp_path, jaas("useTicketCache=true")).principal == "User:"


def test_a_jaas_file_of_kafkas_tools_needs_no_section_of_zookeeper(tmp_path):
    file = tmp_path / "jaas.conf"
    file.write_text(f"KafkaClient {{\n {MODULE} {KEYTAB};\n}};\n")
    path = tmp_path / "client.properties"
    path.write_text(f"{HEAD}java.security.auth.login.config={file}\n")
    found = load_client_properties(path)
    assert (found.security.kerberos.keytab, found.access.sasl) == ("/k/kfix.keytab", None)


def test_kerberos_at_zookeeper_is_read_without_a_login_if_sasl_is_off_there(tmp_path):
    file = tmp_path / "jaas.conf"
    file.write_text(f"KafkaClient {{ {MODULE} {KEYTAB}; }};\nClient {{ {MODULE} {KEYTAB}; }};\n")
    text = f"java.security.auth.login.config={file}\n"
    with pytest.raises(InvalidFileError, match=r"Kerberos is not supported at ZooKeeper; with zookeeper.sasl.client"):
        load(tmp_path, text)
    assert load(tmp_path, f"{text}zookeeper.sasl.client=false\n").kerberos.keytab == "/k/kfix.keytab"


@for_each(
    ("text", "place", "why"),
    [
        ("", "2:1", "GSSAPI needs sasl.jaas.config with the Krb5LoginModule: useTicketCache=true, or useKeyTab=true"),
        (jaas("debug=true"), "3:1", "GSSAPI needs sasl.jaas.config with the Krb5LoginModule"),
        (jaas("useKeyTab=true principal=a"), "3:1", "useKeyTab=true needs keyTab"),
        (jaas("useKeyTab=true keyTab=a"), "3:1", "GSSAPI needs the principal whose key is in the keytab"),
        ("sasl.jaas.config=a.PlainLoginModule required;\n", "3:1", "GSSAPI needs the Krb5LoginModule"),
        (
            "sasl.kerberos.service.name=a\n" + jaas("useTicketCache=true serviceName=b"),
            "3:1",
            "sasl.kerberos.service.name and serviceName in sasl.jaas.config differ",
        ),
        ("java.security.krb5.conf=/no/such\n" + jaas(KEYTAB), "3:1", "/no/such is not a file"),
        ("java.security.krb5.realm=A\n" + jaas(KEYTAB), "3:1", "unknown key java.security.krb5.realm"),
        ("zookeeper.sasl.client=maybe\n" + jaas(KEYTAB), "3:1", "zookeeper.sasl.client is true or false"),
        ("java.security.auth.login.config=/no/such\n", "3:1", "/no/such: cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, text, place, why):
    with pytest.raises(InvalidFileError) as found:
        load(tmp_path, text)
    lines = str(found.value).splitlines()
    assert (f"properties:{place}: " in lines[0], why in lines[0]) == (True, True), lines


def test_without_its_library_kerberos_shows_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("kfix.core.properties.sasl.has_kerberos", lambda: False)
    with pytest.raises(InvalidFileError, match=r"needs the extra kerberos: pip install 'kafka-kfix\[kerberos\]'"):
        load(tmp_path, jaas(KEYTAB))


# Where the token of OAUTHBEARER comes from, in the words of Kafka 2.7 to 4.3 and of librdkafka.

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
OAUTH_HEAD = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
URL = "sasl.oauthbearer.token.endpoint.url=https://idp.example/token\n"

LIBRDKAFKA = """sasl.oauthbearer.method=oidc
sasl.oauthbearer.client.id=ann
sasl.oauthbearer.client.secret=hunter2
sasl.oauthbearer.scope=kafka
"""


def load_oauth(tmp_path, text):
    return load(tmp_path, text, OAUTH_HEAD)


def oauth_jaas(options=""):
    return f"sasl.jaas.config={PACKAGE}.OAuthBearerLoginModule required {options};\n"


def test_an_unsecured_token_has_the_claims_of_the_login_module(tmp_path):
    found = load_oauth(
        tmp_path,
        oauth_jaas(
            'unsecuredLoginStringClaim_sub="ann" unsecuredLoginNumberClaim_level="3" '
            'unsecuredLoginListClaim_scope=",read,write" unsecuredLoginLifetimeSeconds="60" '
            'unsecuredLoginExtension_traceId="7"'
        ),
    )
    assert found.username == "ann"
    assert found.oauth.claims == (("sub", "ann"), ("level", 3.0), ("scope", ("read", "write")))
    assert (found.oauth.lifetime, found.oauth.extensions) == (60, (("traceId", "7"),))


@pytest.mark.parametrize(
    "text",
    [
        oauth_jaas('clientId="ann" clientSecret="hunter2" scope="kafka"')
        + f"sasl.login.callback.handler.class={PACKAGE}.secured.OAuthBearerLoginCallbackHandler\n",
        oauth_jaas('clientId="ann" clientSecret="hunter2" scope="kafka"')
        + f"sasl.login.callback.handler.class={PACKAGE}.OAuthBearerLoginCallbackHandler\n",
        oauth_jaas()
        + "sasl.oauthbearer.client.credentials.client.id=ann\n"
        + "sasl.oauthbearer.client.credentials.client.secret=hunter2\nsasl.oauthbearer.scope=kafka\n"
        + f"sasl.oauthbearer.jwt.retriever.class={PACKAGE}.ClientCredentialsJwtRetriever\n",
        LIBRDKAFKA,
    ],
)
def test_client_credentials_in_the_words_of_every_line(tmp_path, text):
    found = load_oauth(tmp_path, URL + text)
    oauth = found.oauth
    assert (oauth.endpoint, oauth.client_id, oauth.client_secret) == ("https://idp.example/token", "ann", "hunter2")
    assert (oauth.scope, found.username) == ("kafka", "ann")
    assert "hunter2" not in repr(found)


def test_a_token_in_a_file(tmp_path):
    url = "sasl.oauthbearer.token.endpoint.url=file:///run/a%20token\n"
    assert load_oauth(tmp_path, oauth_jaas() + url).oauth.file == "/run/a token"


@for_each(
    ("text", "line", "why"),
    [
        (oauth_jaas(), 3, "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url"),
        (URL + oauth_jaas('clientId="ann"'), 4, "needs clientId and clientSecret"),
        ("sasl.oauthbearer.token.endpoint.url=ftp://hunter2\n" + oauth_jaas(), 3, "is not an address"),
        (URL + oauth_jaas('clientId="a" clientSecret="hunter2" extension_auth="x"'), 4, "an extension of OAUTHBEARER"),
        (oauth_jaas('unsecuredLoginStringClaim_sub="a" unsecuredLoginNumberClaim_n="hunter2"'), 3, "is not a number"),
        (
            oauth_jaas('unsecuredLoginStringClaim_sub="a"') + "sasl.login.callback.handler.class=com.example.Handler\n",
            4,
            "com.example.Handler is not supported",
        ),
        (
            URL + oauth_jaas('clientId="a" clientSecret="b"') + "sasl.oauthbearer.assertion.file=/x\n",
            5,
            "sasl.oauthbearer.assertion.file is not supported",
        ),
        (
            URL + oauth_jaas('clientId="a" clientSecret="b" ssl.truststore.location="/nowhere"'),
            4,
            "/nowhere does not exist",
        ),
    ],
)
def test_a_mistake_is_one_line_at_its_key_and_no_secret(tmp_path, text, line, why):
    with pytest.raises(InvalidFileError) as caught:
        load_oauth(tmp_path, text)
    [problem] = caught.value.problems
    assert f"client.properties:{line}:1: " in problem
    assert why in problem
    assert "hunter2" not in problem
