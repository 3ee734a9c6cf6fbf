"""Where the token of OAUTHBEARER comes from, in the words of Kafka 2.7 to 4.3 and of librdkafka."""

import pytest

from kfix.core.errors import InvalidFileError
from kfix.core.properties.load import load_security
from tests.each import for_each

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
HEAD = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
URL = "sasl.oauthbearer.token.endpoint.url=https://idp.example/token\n"

LIBRDKAFKA = """sasl.oauthbearer.method=oidc
sasl.oauthbearer.client.id=ann
sasl.oauthbearer.client.secret=hunter2
sasl.oauthbearer.scope=kafka
"""


def jaas(options=""):
    return f"sasl.jaas.config={PACKAGE}.OAuthBearerLoginModule required {options};\n"


def load(tmp_path, text):
    path = tmp_path / "client.properties"
    path.write_text(HEAD + text)
    return load_security(path)


def test_an_unsecured_token_has_the_claims_of_the_login_module(tmp_path):
    found = load(
        tmp_path,
        jaas(
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
        jaas('clientId="ann" clientSecret="hunter2" scope="kafka"')
        + f"sasl.login.callback.handler.class={PACKAGE}.secured.OAuthBearerLoginCallbackHandler\n",
        jaas('clientId="ann" clientSecret="hunter2" scope="kafka"')
        + f"sasl.login.callback.handler.class={PACKAGE}.OAuthBearerLoginCallbackHandler\n",
        jaas()
        + "sasl.oauthbearer.client.credentials.client.id=ann\n"
        + "sasl.oauthbearer.client.credentials.client.secret=hunter2\nsasl.oauthbearer.scope=kafka\n"
        + f"sasl.oauthbearer.jwt.retriever.class={PACKAGE}.ClientCredentialsJwtRetriever\n",
        LIBRDKAFKA,
    ],
)
def test_client_credentials_in_the_words_of_every_line(tmp_path, text):
    found = load(tmp_path, URL + text)
    oauth = found.oauth
    assert (oauth.endpoint, oauth.client_id, oauth.client_secret) == ("https://idp.example/token", "ann", "hunter2")
    assert (oauth.scope, found.username) == ("kafka", "ann")
    assert "hunter2" not in repr(found)


def test_a_token_in_a_file(tmp_path):
    url = "sasl.oauthbearer.token.endpoint.url=file:///run/a%20token\n"
    assert load(tmp_path, jaas() + url).oauth.file == "/run/a token"


@for_each(
    ("text", "line", "why"),
    [
        (jaas(), 3, "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url"),
        (URL + jaas('clientId="ann"'), 4, "needs clientId and clientSecret"),
        ("sasl.oauthbearer.token.endpoint.url=ftp://hunter2\n" + jaas(), 3, "is not an address"),
        (URL + jaas('clientId="a" clientSecret="hunter2" extension_auth="x"'), 4, "an extension of OAUTHBEARER"),
        (jaas('unsecuredLoginStringClaim_sub="a" unsecuredLoginNumberClaim_n="hunter2"'), 3, "is not a number"),
        (
            jaas('unsecuredLoginStringClaim_sub="a"') + "sasl.login.callback.handler.class=com.example.Handler\n",
            4,
            "com.example.Handler is not supported",
        ),
        (
            URL + jaas('clientId="a" clientSecret="b"') + "sasl.oauthbearer.assertion.file=/x\n",
            5,
            "sasl.oauthbearer.assertion.file is not supported",
        ),
        (
            URL + jaas('clientId="a" clientSecret="b" ssl.truststore.location="/nowhere"'),
            4,
            "/nowhere does not exist",
        ),
    ],
)
def test_a_mistake_is_one_line_at_its_key_and_no_secret(tmp_path, text, line, why):
    with pytest.raises(InvalidFileError) as caught:
        load(tmp_path, text)
    [problem] = caught.value.problems
    assert f"client.properties:{line}:1: " in problem
    assert why in problem
    assert "hunter2" not in problem
