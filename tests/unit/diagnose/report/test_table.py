"""The reports of a diagnosis: the same findings in every shape, the same exit code with every output."""

import io
import json

import pytest
from rich.console import Console

from kfix.core.diagnosis.finding import Cause, Confidence, Diagnosis, Evidence, Finding, Remedy, Severity
from kfix.diagnose.report.json_findings import as_dict, findings_json
from kfix.diagnose.report.table import findings_text, print_findings
from kfix.diagnose.report.verdict import exit_code, nagios_exit_code, nagios_line
from tests.each import for_each

SERVERS = ",".join(f"broker-{n}.example:9092" for n in range(9))
COMMAND = f"kfix runbook apply coordinator-stuck --bootstrap-server {SERVERS}"


def finding(severity: Severity = Severity.CRITICAL, **changes: object) -> Finding:
    values: dict[str, object] = {
        "code": "KFX101",
        "severity": severity,
        "obj": "__consumer_offsets-3",
        "summary": "no leader | although broker [2] lives",
        "cause": Cause("memory and record differ", Confidence.LIKELY),
        "evidence": (Evidence("zookeeper", "state", "leader -1, isr [2]", 60.0),),
        "remedies": (Remedy("elect", COMMAND, "coordinator-stuck"),),
        "never": ("do not restart broker 2",),
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def diagnosis(*findings: Finding, unread: tuple[str, ...] = ()) -> Diagnosis:
    return Diagnosis("prod", 1_800_000_000.0, findings, unread, {"partitions": 7, "brokers": 3})


@for_each(
    ("given", "code", "nagios", "word"),
    [
        (diagnosis(), 0, 0, "OK"),
        (diagnosis(finding(Severity.INFO)), 0, 0, "OK"),
        (diagnosis(finding(Severity.WARNING)), 20, 1, "WARNING"),
        (diagnosis(finding()), 21, 2, "CRITICAL"),
        (diagnosis(unread=("zookeeper: refused",)), 22, 3, "UNKNOWN"),
        (diagnosis(finding(Severity.WARNING), unread=("zookeeper: refused",)), 22, 3, "UNKNOWN"),
        (diagnosis(finding(), unread=("zookeeper: refused",)), 21, 2, "CRITICAL"),
        (diagnosis(finding(Severity.INFO).with_folded((finding(),))), 21, 2, "CRITICAL"),
    ],
)
def test_the_verdict_is_one_number(given: Diagnosis, code: int, nagios: int, word: str) -> None:
    assert exit_code(given) == code
    assert nagios_exit_code(given) == nagios
    line = nagios_line(given)
    assert line.startswith(f"KFIX {word} - prod: ")
    assert "\n" not in line
    assert line.count("|") == 1


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_commands_are_never_wrapped_and_nothing_else_is_wider_than_the_terminal(width: int) -> None:
    lines = findings_text(diagnosis(finding()), width).splitlines()
    assert sum(line.strip() == COMMAND for line in lines) == 1
    assert all(len(line) <= max(width, 40) for line in lines if COMMAND not in line)


def test_text_that_resembles_markup_is_printed_as_it_is() -> None:
    assert "broker [2] lives" in findings_text(diagnosis(finding()))


def test_there_is_colour_on_a_terminal_and_none_in_a_pipe() -> None:
    terminal, pipe = io.StringIO(), io.StringIO()
    print_findings(diagnosis(finding()), Console(file=terminal, force_terminal=True, color_system="standard", width=80))
    print_findings(diagnosis(finding()), Console(file=pipe, width=80))
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b[" not in pipe.getvalue()


def test_what_was_not_read_keeps_it_from_being_called_healthy() -> None:
    unread = finding(Severity.INFO, code="KFX901", obj="zookeeper", summary="zookeeper was not read")
    said = findings_text(diagnosis(unread, unread=("zookeeper: refused",)))
    assert "healthy" not in said
    assert "not read:\n  zookeeper was not read" in said


def test_the_json_is_versioned_and_whole() -> None:
    whole = diagnosis(finding().with_folded((finding(Severity.WARNING, obj="child", facts={"isr": (1, 2)}),)))
    said = json.loads(findings_json(whole))
    assert said["schema"] == "kfix.diagnosis/v1"
    assert said["exit_code"] == exit_code(whole)
    assert said["worst"] == "critical"
    [head] = said["findings"]
    assert head["key"] == "KFX101:__consumer_offsets-3"
    wanted = {"text": "elect", "command": COMMAND, "runbook": "coordinator-stuck"}
    assert head["remedies"] == [wanted | {"changes": [], "brokers": [], "after": ""}]
    assert head["folded"][0]["facts"] == {"isr": [1, 2]}
    assert as_dict(diagnosis())["worst"] is None
