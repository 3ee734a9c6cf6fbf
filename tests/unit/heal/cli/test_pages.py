"""The commands that need no cluster: list, show, doc, schema, test; a user's own runbooks."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kfix.heal.runbook.catalogue import shipped_dir
from tests.each import for_each
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.shell.console import kfix, one_line, plan_file, wire

STUCK = "coordinator-stuck"


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    return wire("coordinator-stuck", monkeypatch, tmp_path)


def _copy(folder: Path, old: str = "", new: str = "", name: str = STUCK) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text((shipped_dir() / f"{STUCK}.yaml").read_text().replace(old, new) if old else path.name)
    return path


# -- pages


def test_doc_is_the_page_of_show_and_goes_into_a_file(wired: FakeWiring, tmp_path: Path) -> None:
    page = kfix("doc", STUCK).stdout
    assert page == kfix("show", STUCK).stdout
    for part in ("## Preconditions", "## Goal", "## Steps", "- by hand:"):
        assert part in page
    out = tmp_path / "page.md"
    assert kfix("doc", STUCK, "--output-file", str(out)).exit_code == 0
    assert out.read_text() == page
    again = kfix("doc", STUCK, "--output-file", str(out))
    assert again.exit_code == 2
    assert "is not overwritten" in again.output
    assert "cannot write" in kfix("doc", STUCK, "--output-file", "/nowhere/x.md").output


@for_each("path", sorted(shipped_dir().glob("*.yaml")), ids=lambda p: p.stem)
def test_every_runbook_has_a_page_with_all_its_contents(path: Path) -> None:
    result = kfix("doc", str(path))
    assert result.exit_code == 0, result.output
    assert ("## Invariants" in result.stdout) == ("\ninvariants:" in path.read_text())
    assert ("## Placement" in result.stdout) == ("\nplacement:" in path.read_text())
    assert ("## Follow-up" in result.stdout) == ("\nstanding:" in path.read_text())


def test_the_way_by_hand_has_the_runbooks_own_arguments(wired: FakeWiring) -> None:
    page = kfix("doc", "durable-defaults").stdout
    assert "--add-config unclean.leader.election.enable=false" in page


def test_a_plan_is_shown_whatever_became_of_it(
    wired: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plan = plan_file(tmp_path, STUCK)
    fresh = kfix("show", str(path))
    assert fresh.exit_code == 0
    assert f"PLAN {plan['plan_id'][:8]}" in fresh.stdout
    assert "note: made by " in fresh.stdout
    assert "the cluster was not read" in one_line(fresh.stdout)
    assert "expired" not in fresh.stdout
    monkeypatch.setattr("time.time", lambda: plan["expires_at"] + 60)
    assert "note: it expired at " in kfix("show", str(path)).stdout
    as_json = kfix("show", str(path), "--json")
    assert json.loads(as_json.stdout)["plan_id"] == plan["plan_id"]


def test_a_plan_of_another_kfix_is_shown_and_marked_as_one(
    wired: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = plan_file(tmp_path, STUCK)
    monkeypatch.setattr("kfix.heal.cli.pages.__version__", "9.9.9")
    assert "this is kfix 9.9.9, which will refuse it" in kfix("show", str(path)).stdout


@for_each("name", ["nothing", "x.json", "/", ".", "", "./x", "nothing.yaml", "a/b.yaml", "\udcff", "-x"])
def test_what_cannot_be_shown_is_one_clear_line(wired: FakeWiring, name: str) -> None:
    for command in ("show", "doc"):
        result = kfix(command, name)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        assert result.stderr


# -- schema and tests


def test_the_schema_is_one(wired: FakeWiring) -> None:
    schema = json.loads(kfix("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "KFX101" in schema["$defs"]["On"]["properties"]["finding"]["items"]["enum"]


def test_the_tests_of_all_runbooks_pass() -> None:
    result = kfix("test")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[-1] == f"{len(lines) - 1} tests passed"
    assert all(line.startswith("ok ") for line in lines[:-1])


def test_a_test_that_fails_shows_what_was_expected_and_what_came(tmp_path: Path) -> None:
    path = _copy(tmp_path, "steps: [nudge], max_gate: plan", "steps: [elect-isr], max_gate: auto")
    result = kfix("test", str(path))
    assert result.exit_code == 5
    assert "FAIL  coordinator-stuck: the controller is left alone during a migration" in result.stdout
    assert "steps: expected [elect-isr], got [nudge]" in result.stdout
    assert "max_gate: expected auto at most, got plan" in result.stdout
    assert "1 of 8 tests failed" in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "cluster: coordinator-stuck-preferred-alive",
            "cluster: stuck-preferred",
            "unknown cluster 'stuck-preferred', did you mean",
        ),
        (
            "refused_by: partition_has_live_isr",
            "refused_by: no_such_thing",
            "refused_by: expected 'no_such_thing', but the r",
        ),
        ("{refused_by: partition_has_live_isr}", "{healed: true}", "expected a plan, but it was refused: precondition"),
        ("finding: {code: KFX102}", "finding: {code: KFX201}", "gives KFX102, not KFX201"),
        (
            "cluster: coordinator-stuck-preferred-alive\n    finding: {code: KFX101}",
            "cluster: coordinator-stuck-preferred-alive\n    finding: {code: KFX101}\n    params: {x: 1}",
            "unknown parameter 'x'",
        ),
        (
            "expect: {steps: [nudge], max_gate: plan, healed: true}",
            "expect: {refused_by: migration}",
            "refused_by: expected 'migration', got a plan of 1 step",
        ),
    ],
)
def test_each_way_to_fail_is_reported(tmp_path: Path, old: str, new: str, says: str) -> None:
    result = kfix("test", str(_copy(tmp_path, old, new)), "--json")
    assert result.exit_code == 5, result.output
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert any(says in problem for one in told for problem in one["problems"]), told
    assert [one["ok"] for one in told].count(False) == 1


def test_tests_of_a_name_or_of_nothing() -> None:
    assert "8 tests passed" in kfix("test", STUCK).stdout
    assert kfix("test", "nothing").exit_code == 2


# -- where runbooks come from


def test_a_users_own_runbooks_go_before_kfixs_and_a_sites_before_both(
    wired: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, site = tmp_path / "own", tmp_path / "site"
    _copy(own, "version: 1", "version: 2")
    monkeypatch.setenv("KFIX_RUNBOOKS", str(own))
    listed = {one["id"]: one for one in map(json.loads, kfix("list", "--json").stdout.splitlines())}
    assert (listed[STUCK]["version"], listed[STUCK]["from"]) == (2, str(own / f"{STUCK}.yaml"))
    assert listed["metadata-divergence"]["from"].startswith(str(shipped_dir()))
    assert str(own)[:12] in kfix("list").stdout
    assert "; version 2, by kfix" in kfix("show", STUCK).stdout
    _copy(site, "version: 1", "version: 3")
    assert "; version 3, by kfix" in kfix("show", STUCK, "--runbooks", str(site)).stdout
    path = tmp_path / "p.json"
    kfix("plan", STUCK, "--output-file", str(path))
    assert json.loads(path.read_text())["runbook"]["version"] == 2


def test_the_usual_folder_may_be_absent_and_a_named_one_may_not(
    wired: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "from" not in kfix("list").stdout.splitlines()[0]
    _copy(tmp_path / "state" / "config" / "kfix" / "runbooks", "version: 1", "version: 4")
    assert "; version 4, by kfix" in kfix("show", STUCK).stdout
    monkeypatch.setenv("KFIX_RUNBOOKS", str(tmp_path / "none"))
    result = kfix("list")
    assert result.exit_code == 2
    assert "no such folder of runbooks" in one_line(result.output)
