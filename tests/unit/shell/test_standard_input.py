"""`--from -` reads what was pasted or piped, and `--only` takes several codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.documents import opening
from kfix.core.saved.files import save
from kfix.shell.app import app
from tests.unit.diagnostics.clusters import metadata_divergence

DESCRIBED = (
    "Topic: t\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: 1\n"
    "\tTopic: t\tPartition: 1\tLeader: 2\tReplicas: 1,2\tIsr: 2\n"
)


def run(*args, given=b""):
    return CliRunner().invoke(app, list(map(str, args)), input=given)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(metadata_divergence().snapshot(), tmp_path / "s.json.gz")
    return tmp_path / "s.json.gz"


def test_pasted_text_is_judged_as_from_a_file(tmp_path):
    file = tmp_path / "pasted.txt"
    file.write_text(DESCRIBED)
    from_file = run("diagnose", "--from", file, "--json")
    from_input = run("diagnose", "--from", "-", "--json", given=DESCRIBED.encode())
    assert from_input.exit_code == from_file.exit_code == 21
    assert json.loads(from_input.stdout)["findings"] == json.loads(from_file.stdout)["findings"] != []
    assert from_input.stderr == ""
    assert "standard input" in run("diagnose", "--from", "-", given=DESCRIBED.encode()).stdout


def test_a_snapshot_may_be_piped_packed_or_not(saved):
    import gzip

    plain = run("diagnose", "--from", saved, "--json").stdout
    for raw in (saved.read_bytes(), gzip.decompress(saved.read_bytes())):
        assert run("diagnose", "--from", "-", "--json", given=raw).stdout == plain
    assert run("whatif", "--from", "-", "--down", "broker=1", given=saved.read_bytes()).exit_code in {0, 21}


@pytest.mark.parametrize("given", [b"", b"\n", b"hello\n", b"\xff\xfe", b'{"format": "kfix.snapshot", "version": 1'])
def test_what_is_no_snapshot_and_no_text_of_a_tool_is_one_line(given):
    result = run("diagnose", "--from", "-", given=given)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("kfix: standard input")


def test_standard_input_is_read_once_closed_or_too_large_it_is_refused(saved, monkeypatch):
    assert "can be read once" in run("diagnose", "--from", "-", "--from", "-").stderr
    command = f"exec {sys.executable} -m kfix diagnose --from - <&-"
    closed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stdout) == (2, "")
    assert closed.stderr.startswith("kfix: standard input")
    monkeypatch.setattr(opening.read_standard_input, "__defaults__", (10,))
    assert "is larger than" in run("diagnose", "--from", "-", given=saved.read_bytes()).stderr


def test_several_codes_with_commas_between_them(saved):
    def codes(*words):
        return {f["code"] for f in json.loads(run("diagnose", "--from", saved, "--json", *words).stdout)["findings"]}

    every = codes("--prevention")
    assert len(every) > 1
    one, other = sorted(every)[:2]
    assert codes("--only", f"{one},{other}") == codes("--only", f" {one} , {other}") == {one, other}
    assert codes("--only", one, "--only", other) == {one, other}
    wrong = run("diagnose", "--from", saved, "--only", f"{one},")
    assert wrong.exit_code == 2
