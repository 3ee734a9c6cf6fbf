"""AWS MSK IAM: the token that AWS's library makes, from credentials of the environment; nothing is asked of AWS."""

import base64
import sys
import urllib.parse

import pytest

from kfix.core.oauth.settings import Aws, OAuth, TokenError
from kfix.core.oauth.tokens import aws_token, region_of
from kfix.core.properties.load import load_security

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
