"""The formats of a diagnosis for files and other programs, by their name for `--format`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from kfix.core.diagnosis.finding import Diagnosis
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.screen import NO_LIMIT, screen_lines
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code, nagios_exit_code, nagios_line
from kfix.front.lines import lines_text

if TYPE_CHECKING:
    from kfix.core.derive.checks import Check

#: The width of the text in a file, as in a pipe.
_WIDTH = 120


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    NAGIOS = "nagios"
    PROMETHEUS = "prometheus"
    SARIF = "sarif"
    JUNIT = "junit"


def document(
    kind: Format, diagnosis: Diagnosis, checks: Callable[[], tuple[Check, ...]], *, verbose: bool = False
) -> str:
    """Returns the document; `checks` returns those that were judged, for the formats that list them."""
    # Each of these formats is for few programs, and loads modules that the others do not need.
    if kind is Format.SARIF:
        from kfix.diagnose.report.sarif import findings_sarif  # noqa: PLC0415

        return findings_sarif(diagnosis, checks())
    if kind is Format.JUNIT:
        from kfix.diagnose.report.junit import findings_junit  # noqa: PLC0415

        return findings_junit(diagnosis, checks())
    if kind is Format.PROMETHEUS:
        from kfix.diagnose.report.metrics import findings_metrics  # noqa: PLC0415

        return findings_metrics(diagnosis)
    if kind is Format.JSON:
        return findings_json(diagnosis)
    if kind is Format.NAGIOS:
        return nagios_line(diagnosis)
    return (
        findings_text(diagnosis, _WIDTH) if verbose else lines_text(screen_lines(diagnosis, _WIDTH, NO_LIMIT), _WIDTH)
    )


def exit_code_of(kind: Format, diagnosis: Diagnosis) -> int:
    """Returns the exit code: a monitoring plugin's for `nagios`, and the same one for every other format."""
    return nagios_exit_code(diagnosis) if kind is Format.NAGIOS else exit_code(diagnosis)
