"""Tokens from the lab's identity provider, and from one that misbehaves."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kfix.core.oauth import tokens
from kfix.core.oauth.settings import Aws, OAuth, TokenError
from kfix.core.oauth.tokens import aws_token, region_of, token_of, unsecured_token
from kfix.core.properties.load import load_security
from kfix.lab.security.oidc import _handler, read_settings, write_settings

# AWS MSK IAM: the token that AWS's library makes, from credentials of the environment; nothing is asked of AWS.

BROKER = "b-1.orders.a1b2c3.c2.kafka.eu-central-1.amazonaws.com:9098"
FILE = """security.protocol=SASL_SSL
sasl.mechanism=AWS_MSK_IAM
sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required {options};
sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler
"""


@pytest.fixture
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2-aws")
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)


@pytest.mark.parametrize(
    ("options", "aws"),
    [
        ("", Aws()),
        ('awsProfileName="ops"', Aws("ops")),
        ('awsRoleArn="arn:aws:iam::1:role/kfix"', Aws("", "arn:aws:iam::1:role/kfix")),
    ],
)
def test_the_file_of_awss_java_library_is_read(tmp_path, options, aws):
    path = tmp_path / "client.properties"
    path.write_text(FILE.format(options=options))
    found = load_security(path)
    assert (found.mechanism, found.oauth) == ("OAUTHBEARER", OAuth(aws=aws))


def test_the_token_is_a_presigned_url_for_the_region_of_the_broker(credentials):
    token, lifetime = aws_token(Aws(), BROKER)
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    assert url.startswith("https://kafka.eu-central-1.amazonaws.com/")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert query["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert 0 < lifetime <= 900
    assert "hunter2-aws" not in url


@pytest.mark.parametrize(
    ("where", "region"),
    [
        (BROKER, "eu-central-1"),
        ("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com:9098", "us-east-1"),
        ("b-1.o.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
    ],
)
def test_the_region_is_that_of_the_brokers_name(where, region):
    assert region_of(where) == region


def test_without_a_region_in_the_name_the_environment_names_it(credentials, monkeypatch):
    with pytest.raises(TokenError, match="set AWS_REGION"):
        region_of("10.0.0.1:9098")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert region_of("10.0.0.1:9098") == "eu-west-1"


def test_a_profile_that_is_not_there_is_one_line(credentials):
    with pytest.raises(TokenError, match=r"no token for region eu-central-1: .*none-such") as caught:
        aws_token(Aws(profile="none-such"), BROKER)
    assert "hunter2" not in str(caught.value)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(TokenError, match=r"needs the extra aws: pip install 'kafka-kfix\[aws\]'"):
        aws_token(Aws(), BROKER)


@contextlib.contextmanager
def serving(handler):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    file = tmp_path_factory.mktemp("oidc") / "oidc.json"
    write_settings(file, 1, {"ann": "s3cret: /?"})
    return read_settings(file)


def answering(status, body, headers=(), asked=None):
    """A handler that answers every POST alike, and notes what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if asked is not None:
                asked.append((self.headers["Authorization"], form))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            asked.append(("followed", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_an_unsecured_token_is_a_jwt_without_a_signature():
    token = unsecured_token(OAuth(claims=(("sub", "ann"), ("scope", ("a",))), lifetime=60), 1000.9)
    assert claims(token) == {"iat": 1000.0, "exp": 1060.0, "sub": "ann", "scope": ["a"]}
    assert token.endswith(".")
    assert "=" not in token


def test_a_token_is_requested_once_and_kept_until_it_is_about_to_expire(provider, monkeypatch):
    with serving(_handler(provider)) as url:
        settings = OAuth(endpoint=url, client_id="ann", client_secret="s3cret: /?")
        first = token_of(settings, 5)
        assert claims(first)["sub"] == "ann"
        assert token_of(settings, 5) is first
        later = tokens.time.monotonic() + 280
        monkeypatch.setattr(tokens.time, "monotonic", lambda: later)
        assert token_of(settings, 5) is not first


def test_a_wrong_secret_is_one_line_without_it(provider):
    with serving(_handler(provider)) as url:
        settings = OAuth(endpoint=url, client_id="ann", client_secret="wr0ng")
        with pytest.raises(TokenError, match=r"refused client 'ann': HTTP 401 invalid_client$") as caught:
            token_of(settings, 5)
    assert "wr0ng" not in str(caught.value)


def test_the_request_is_that_of_rfc_6749():
    asked = []
    body = json.dumps({"access_token": "t0ken", "expires_in": 60}).encode()
    with serving(answering(200, body, asked=asked)) as url:
        settings = OAuth(endpoint=url, client_id="a b", client_secret="c:d", scope="x y", quoted=True)
        assert token_of(settings, 5) == "t0ken"
    [(header, form)] = asked
    assert base64.b64decode(header.removeprefix("Basic ")) == b"a+b:c%3Ad"
    assert form == "grant_type=client_credentials&scope=x+y"


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, b"<html>", "the response is not JSON"),
        (200, b"[]", "the response has no access_token"),
        (200, b'{"access_token": "two words"}', "the response has no access_token"),
        (400, b'{"error": "s3cret!"}', "HTTP 400$"),
        (500, b"s3cret", "HTTP 500$"),
    ],
)
def test_a_strange_answer_is_one_line(status, body, why):
    with serving(answering(status, body)) as url, pytest.raises(TokenError, match=why) as caught:
        token_of(OAuth(endpoint=url, client_id="ann", client_secret="s3cret"), 5)
    assert "s3cret" not in str(caught.value)


def test_a_redirect_is_not_followed_for_it_would_take_the_secret_elsewhere():
    asked = []
    away = answering(302, b"", [("Location", "/elsewhere")], asked)
    with serving(away) as url, pytest.raises(TokenError, match="HTTP 302"):
        token_of(OAuth(endpoint=url, client_id="ann", client_secret="s3cret"), 5)
    assert len(asked) == 1


def test_an_endpoint_that_is_not_there_is_named():
    with pytest.raises(TokenError, match=r"token endpoint http://127\.0\.0\.1:1/token: connection refused"):
        token_of(OAuth(endpoint="http://127.0.0.1:1/token", client_id="ann", client_secret="x"), 5)


def test_a_file_with_a_token_and_without_one(tmp_path):
    (tmp_path / "token").write_text("abc.def.ghi\n")
    assert token_of(OAuth(file=str(tmp_path / "token")), 5) == "abc.def.ghi"
    (tmp_path / "token").write_text("two words")
    with pytest.raises(TokenError, match="does not contain a token"):
        token_of(OAuth(file=str(tmp_path / "token")), 5)
    with pytest.raises(TokenError, match="cannot be read"):
        token_of(OAuth(file=str(tmp_path / "none")), 5)
