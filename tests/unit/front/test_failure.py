"""Errors as JSON and as a line of a monitoring plugin."""

from __future__ import annotations

import json

import pytest

from kfix.front.failure import Machine, failure_json, failure_line, machine_output


@pytest.mark.parametrize(
    ("args", "machine"),
    [
        (["diagnose", "--json"], Machine.JSON),
        (["diagnose", "--nagios"], Machine.NAGIOS),
        (["diagnose", "--json", "--nagios"], Machine.NAGIOS),
        (["runbook", "plan", "x", "--json-in", "moves.json"], Machine.NONE),
        (["runbook", "plan", "--", "--json"], Machine.NONE),
        ([], Machine.NONE),
    ],
)
def test_the_options_name_the_reader(args: list[str], machine: Machine) -> None:
    assert machine_output(args) is machine


def test_the_object_holds_the_sentence_as_it_is_and_no_control_characters() -> None:
    text = failure_json("broker \x1b[31m: no", 22, "try again")
    assert "\x1b" not in text
    assert json.loads(text) == {
        "schema": "kfix.error/v1",
        "exit_code": 22,
        "error": "broker \x1b[31m: no",
        "hint": "try again",
    }


def test_the_line_is_one_line_without_performance_data() -> None:
    assert failure_line("a|b.\nc", "do d") == "KFIX UNKNOWN - a/b. c (do d)"
