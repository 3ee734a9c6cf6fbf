"""One file for others: what is in it, and that no secret and, on request, no name of a host is."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from kfix.bundle.bundle import ManifestJson
from kfix.bundle.masking import Mask, properties_text, secrets_of
from kfix.core.access import Access
from kfix.core.documents.outputs import schema_of
from kfix.core.properties.parsing import read_properties
from kfix.diagnose.snapshots import load_snapshot
from kfix.shell.app import app
from tests.each import for_each
from tests.places import ROOT

SICK = ROOT / "examples/snapshots/coordinator-stuck.json.gz"
PROPERTIES = """\
bootstrap.servers=broker1.example.com:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="geheim&1";
"""


def bundled(tmp_path: Path, *words: object) -> tuple[Result, dict[str, bytes]]:
    file = tmp_path / "b.tar.gz"
    done = CliRunner().invoke(
        app,
        ["bundle", "--output-file", str(file), *map(str, words)],
        env={"KFIX_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    if not file.exists():
        return done, {}
    with tarfile.open(file) as tar:
        found = {each.name: tar.extractfile(each).read() for each in tar.getmembers()}  # type: ignore[union-attr]
        assert {each.mode for each in tar.getmembers()} == {0o600}
    return done, found


def test_the_manifest_lists_every_file_with_its_hash(tmp_path: Path) -> None:
    done, found = bundled(tmp_path, "--from", SICK)
    assert done.exit_code == 0, done.output
    manifest = json.loads(found.pop("kfix-bundle/manifest.json"))
    jsonschema.validate(manifest, schema_of(ManifestJson))
    listed = {f"kfix-bundle/{each['name']}": each["sha256"] for each in manifest["files"]}
    assert listed == {name: hashlib.sha256(raw).hexdigest() for name, raw in found.items()}
    assert manifest["taken_at"].endswith("Z")
    assert oct((tmp_path / "b.tar.gz").stat().st_mode & 0o777) == "0o600"


@for_each("words", [(), ("--anonymous",)])
def test_its_snapshot_is_diagnosed_as_the_cluster_was(words: tuple[str, ...], tmp_path: Path) -> None:
    _, found = bundled(tmp_path, "--from", SICK, *words)
    (tmp_path / "s.json").write_bytes(found["kfix-bundle/snapshot.json"])
    again = CliRunner().invoke(app, ["diagnose", "--from", str(tmp_path / "s.json"), "--json"])
    before = CliRunner().invoke(app, ["diagnose", "--from", str(SICK), "--json"])
    keys = [[each["key"] for each in json.loads(said.stdout)["findings"]] for said in (before, again)]
    assert keys[0] == keys[1]
    assert again.exit_code == before.exit_code


def test_an_anonymous_bundle_names_no_host(tmp_path: Path) -> None:
    hosts = {each.host for each in load_snapshot(SICK).addresses.values()}
    assert hosts
    _, named = bundled(tmp_path, "--from", SICK)
    (tmp_path / "b.tar.gz").unlink()
    _, found = bundled(tmp_path, "--from", SICK, "--anonymous")
    for host in hosts:
        assert any(host.encode() in raw for raw in named.values())
        assert not any(host.encode() in raw for raw in found.values()), host


def test_of_client_properties_only_harmless_values_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(PROPERTIES)
    values = read_properties(file)
    text = properties_text(values)
    assert "sasl.mechanism=SCRAM-SHA-512\n" in text
    assert "sasl.jaas.config=(left out)\n" in text
    secrets = secrets_of(values, Access(command_config=file).target().security)
    assert "geheim&1" in secrets
    masked = Mask(secrets)(json.dumps({"error": "refused geheim&1", "more": "of broker1"}))
    assert json.loads(masked) == {"error": "refused (left out)", "more": "of broker1"}


@for_each(
    "text, masked",
    [
        ("at b1:9092 and b1.", "at host-1:9092 and host-1."),
        ("b10, b1.example.com, topic-b1", "b10, host-2, topic-b1"),
        ("//b1/x 10.0.0.1:9 110.0.0.1", "//host-1/x host-3:9 110.0.0.1"),
    ],
)
def test_only_whole_names_of_hosts_are_replaced(text: str, masked: str) -> None:
    assert Mask((), ("b1", "b1.example.com", "10.0.0.1"))(text) == masked


def test_a_run_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "state/kfix/runs/broken").mkdir(parents=True)
    done, found = bundled(tmp_path, "--from", SICK)
    assert done.exit_code == 0
    assert "left out: run broken" in done.output
    assert "run broken" in json.loads(found["kfix-bundle/manifest.json"])["left_out"][0]


@for_each(
    "words, said",
    [
        (["--output-file", "x.zip"], "must end in .tar.gz"),
        (["--output-file", "y.tar.gz", "--from", str(SICK), "-b", "h:1"], "leave out --bootstrap-server"),
    ],
)
def test_a_wrong_option_is_one_line(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["bundle", *words])
    assert (done.exit_code, said in done.stderr) == (2, True), done.output


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(b"mine"))
    done = CliRunner().invoke(app, ["bundle", "--from", str(SICK), "--output-file", str(tmp_path / "b.tar.gz")])
    assert done.exit_code == 2
    assert gzip.decompress((tmp_path / "b.tar.gz").read_bytes()) == b"mine"
