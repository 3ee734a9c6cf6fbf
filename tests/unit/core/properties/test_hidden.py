"""What a config provider gave is in no message, whatever is wrong with it; a hostile file is one line, and quickly."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kfix.core.errors import UsageError
from kfix.core.properties.keys import USED
from kfix.core.properties.load import load_client_properties

SECRET = "TopSecret123"
HEAD = """\
config.providers=env,file,dir
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider
"""
SECURED = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
VALUES = (SECRET, f"{SECRET},{SECRET}", f"{SECRET}:{SECRET}", f"a.b {SECRET} {SECRET}=x;", f'{SECRET} required "')


def mistakes(path: Path, text: str) -> str:
    path.write_text(HEAD + text, encoding="latin-1")
    began = time.process_time()
    try:
        load_client_properties(path)
    except UsageError as error:
        return str(error)
    finally:
        assert time.process_time() - began < 5
    return ""


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", sorted(USED - {"config.providers"}))
def test_the_value_of_a_provider_is_in_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    monkeypatch.setenv("FROM", value)
    before = "" if key in {"security.protocol", "sasl.mechanism"} else SECURED
    said = mistakes(tmp_path / "c.properties", f"{before}{key}=${{env:FROM}}\n")
    assert SECRET.lower() not in said.lower()


def test_the_line_names_the_key_and_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM", SECRET)
    path = tmp_path / "c.properties"
    assert mistakes(path, "security.protocol=${env:FROM}\n") == (
        f"{path}:5:1: security.protocol is not valid: its value comes from a config provider, and is not shown; "
        "see docs/security.md for what it may be"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sasl.username=${env:HOME}\nconfig.providers.env.param.allowlist.pattern=[\n", "not a regular expression"),
        ("sasl.username=${env:HOME}\nconfig.providers.env.param.allowlist.pattern=(\\\\w+)+!\n", "could take for ever"),
        ("sasl.username=${env:HOME}\nconfig.providers.env.param.allowlist.pattern=.*.*.*.*.*.*x\n", "take for ever"),
        ("sasl.username=${env:BINARY}\n", "its value is not text"),
        ("ssl.truststore.location=a\\u0000b\n", "an invalid escape"),
        ("ssl.truststore.location=a\\ud800b\n", "an invalid escape"),
        ("sasl.username=${dir:FOLDER:nul}\n", "its value is not text"),
        ("sasl.username=${dir:FOLDER/loop:x}\n", "too many levels of symbolic links"),
        ("sasl.username=${dir:FOLDER/loop:x}\nconfig.providers.dir.param.allowed.paths=FOLDER\n", "is outside of"),
        ("security.protocol=SSL\nssl.truststore.certificates=\\u20ac\n", "ssl.truststore.certificates"),
    ],
)
def test_a_hostile_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.setenv("BINARY", "a\udcffb")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nul").write_bytes(b"a\0b")
    assert said in mistakes(tmp_path / "c.properties", text.replace("FOLDER", str(tmp_path)))


def test_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_text("sasl.mechanism=PLAIN\nsecurity.protocol=SASL_PLAINTEXT\nsasl.username=\\ud83d\\ude00\n")
    assert load_client_properties(path).security.username == "\U0001f600"


def test_a_file_that_is_a_loop_of_links_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match="too many levels of symbolic links"):
        load_client_properties(tmp_path / "loop")
