"""What a machine reads is a whole document, also where the command fails: an object, or a line of a plugin."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from kfix.core.errors import RefusedError
from kfix.front.terminal import say_json
from kfix.shell.app import app


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nothing listens: the port is taken and never served."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*taken.getsockname())


def kfix(*args: object) -> Result:
    return CliRunner().invoke(app, list(map(str, args)))


@pytest.mark.parametrize(
    "command",
    [
        ("diagnose",),
        ("diagnose", "--group", "payments"),
        ("whatif",),
        ("runbook", "plan", "coordinator-stuck"),
    ],
    ids=" ".join,
)
def test_an_unreachable_cluster_is_a_json_object_with_its_exit_code(nobody: str, command: tuple[str, ...]) -> None:
    result = kfix(*command, "--json", "--bootstrap-server", nobody)
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["schema"], answer["exit_code"]) == (22, "kfix.error/v1", 22)
    assert nobody in answer["error"]
    assert answer["hint"]
    assert answer["error"] in result.stderr


def test_an_unreachable_cluster_is_unknown_for_a_monitoring_system(nobody: str) -> None:
    result = kfix("diagnose", "--nagios", "--bootstrap-server", nobody)
    [line] = result.stdout.splitlines()
    assert result.exit_code == 3
    assert line.startswith("KFIX UNKNOWN - ")
    assert nobody in line
    assert "|" not in line


@pytest.mark.parametrize(
    "options",
    [
        ("--group", "g"),
        ("--json",),
        ("--only", "KFX999"),
        ("--from", "missing.json"),
        ("--timeout", "soon"),
        ("--bogus",),
    ],
)
def test_a_plugin_that_is_called_wrongly_is_unknown(options: tuple[str, ...]) -> None:
    result = kfix("diagnose", "--nagios", *options)
    [line] = result.stdout.splitlines()
    assert (result.exit_code, line.startswith("KFIX UNKNOWN - ")) == (3, True)


@pytest.mark.parametrize("options", [("--from", "missing.json"), ("--timeout", "soon"), ("--bogus",), ("--debounce",)])
def test_a_wrong_option_is_a_json_object_where_json_was_asked_for(options: tuple[str, ...]) -> None:
    result = kfix("diagnose", "--json", *options)
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["exit_code"]) == (2, 2)
    assert options[0] in answer["error"] or options[1] in answer["error"]


def test_a_person_reads_the_error_on_standard_error_only(nobody: str) -> None:
    result = kfix("diagnose", "--bootstrap-server", nobody)
    assert (result.exit_code, result.stdout) == (22, "")
    assert nobody in result.stderr


@pytest.mark.parametrize(("option", "code"), [("--json", 130), ("--nagios", 3)])
def test_an_interrupted_command_still_prints_a_whole_document(
    monkeypatch: pytest.MonkeyPatch, option: str, code: int
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kfix.diagnose.cli.diagnose.choice_of", interrupted)
    result = kfix("diagnose", option)
    assert result.exit_code == code
    if option == "--json":
        assert json.loads(result.stdout)["error"] == "interrupted"
    else:
        assert result.stdout == "KFIX UNKNOWN - interrupted\n"


def test_an_internal_error_is_a_json_object_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("kfix.diagnose.cli.diagnose.choice_of", broken)
    result = kfix("diagnose", "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["exit_code"]) == (1, 1)
    assert "a mistake" in answer["error"]


def test_a_document_that_was_printed_is_not_followed_by_a_second_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(*_: object, **__: object) -> None:
        say_json({"printed": True})
        raise RefusedError("and then it failed")

    monkeypatch.setattr("kfix.diagnose.cli.diagnose.choice_of", printed)
    result = kfix("diagnose", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (3, {"printed": True})
