"""`-o json` wherever there is `--json`; an unknown format is refused and never taken for a file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.shell.app import app
from tests.each import for_each
from tests.places import ROOT

SICK = str(ROOT / "examples/snapshots/coordinator-stuck.json.gz")
runner = CliRunner()


@for_each("words", [["-o", "json"], ["-ojson"], ["--format", "json"], ["--format=json"]])
@for_each("command", [["whatif", "--from", SICK], ["runbook", "list"], ["diagnose", "--from", SICK]])
def test_json_is_asked_for_in_the_usual_ways(command: list[str], words: list[str]) -> None:
    short = runner.invoke(app, [*command, *words])
    assert short.output == runner.invoke(app, [*command, "--json"]).output
    assert short.output.startswith(("{", "["))


def test_text_is_the_default() -> None:
    assert (
        runner.invoke(app, ["runbook", "list", "-o", "text"]).output == runner.invoke(app, ["runbook", "list"]).output
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["whatif", "--from", SICK, "-o", "plan.json"], "-o plan.json: this command prints text or json"),
        (["whatif", "--from", SICK, "-o"], "-o : this command prints text or json"),
        (["lab", "kill", "1", "-o", "json"], "-o json: this command prints text"),
        (["runbook", "plan", "x", "-o", "p"], "-o p: this command prints text or json; --output-file p writes a file"),
    ],
)
def test_an_unknown_format_is_refused(
    words: list[str], sentence: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    done = runner.invoke(app, words)
    assert (done.exit_code, done.stderr) == (2, f"kfix: {sentence}\n")
    assert (json.loads(done.stdout)["error"] if words[-1] == "json" else done.stdout or sentence) == sentence


def test_an_error_is_json_where_json_was_asked_for_in_any_way() -> None:
    for words in (["-o", "json"], ["-ojson"], ["--format=json"], ["--json"]):
        done = runner.invoke(app, ["whatif", "--from", "no-such-file", *words])
        assert json.loads(done.stdout)["schema"] == "kfix.error/v1", words


def test_what_follows_two_dashes_is_no_option() -> None:
    assert "No such option" not in runner.invoke(app, ["lab", "exec", "az1", "--", "ls", "-o", "x"]).output


def test_the_value_of_an_option_is_no_format(tmp_path: Path) -> None:
    reason = ["runbook", "countersign", "plan.json", "--output-file", str(tmp_path / "x"), "--reason", "-only"]
    done = runner.invoke(app, reason)
    assert "this command prints" not in done.output
    assert "plan.json" in done.output
    as_json = runner.invoke(app, [*reason[:-1], "--json"])
    assert not as_json.stdout.startswith("{")
