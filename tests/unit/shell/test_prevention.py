"""`kfix diagnose --prevention`: asked for by itself, by a code of it, and not otherwise."""

import json

import pytest
from typer.testing import CliRunner, Result

from kfix.core.saved.files import save
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL
from kfix.diagnose.snapshots import load_snapshot
from kfix.shell.app import app
from tests.unit.diagnostics.clusters import healthy
from tests.unit.diagnostics.prevention import of_factor


def run(*args: object) -> Result:
    return CliRunner().invoke(app, list(map(str, args)))


@pytest.fixture
def thin(tmp_path):
    path = tmp_path / "thin.json"
    save(of_factor(2).snapshot(), path)
    return path


def codes(result):
    said = json.loads(result.stdout)
    return {f["code"] for head in said["findings"] for f in (head, *head["folded"])}, said["exit_code"], said


def test_without_it_nothing_changes(thin):
    result = run("diagnose", "--from", thin, "--json")
    found, code, said = codes(result)
    assert found == {"KFX305"}
    assert (code, result.exit_code, said["prevention"]) == (0, 0, False)


def test_with_it_the_exit_code_is_that_of_what_is_reported(thin):
    result = run("diagnose", "--from", thin, "--json", "--prevention")
    found, code, said = codes(result)
    assert found == {"KFX305", "KFX601", "KFX603", "KFX613", "KFX616"}
    assert (code, result.exit_code, said["prevention"]) == (20, 20, True)


def test_a_code_of_it_asks_for_it(thin):
    found, code, _ = codes(run("diagnose", "--from", thin, "--json", "--only", "rf-below-policy"))
    assert found == {"KFX601"}
    assert code == 20


def test_a_healthy_cluster_has_advice_at_most(tmp_path):
    path = tmp_path / "well.json"
    save(healthy(), path)
    result = run("diagnose", "--from", path, "--prevention")
    assert result.exit_code == 0
    assert "healthy, with advice" in result.stdout


def test_it_goes_not_with_the_story_of_one_group(thin):
    assert run("diagnose", "--from", thin, "--prevention", "--group", "g").exit_code == 2


def test_explain_shows_who_reports_a_code():
    listed = run("explain").stdout.splitlines()
    assert [line for line in listed if line.startswith("KFX601")] == [
        "KFX601  rf-below-policy               topics have fewer replicas than the site requires (latent risk)"
    ]
    assert "kfix diagnose --prevention" in run("explain", "rf-below-policy").stdout
    assert "--prevention" not in run("explain", "KFX101").stdout


def test_a_saved_snapshot_keeps_the_protocol_versions(thin):
    configs = load_snapshot(thin).broker_configs
    assert {c[NEWEST_PROTOCOL] for c in configs.values()} == {"3.9-IV0"}
