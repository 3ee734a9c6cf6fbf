"""A cluster in maintenance: its findings are no alarm on any output, and a run that was cut short still is."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.diagnosis.finding import CRITICAL, HEALTHY, WARNINGS, Severity
from kfix.diagnose.report.junit import findings_junit
from kfix.diagnose.report.verdict import exit_code, nagios_exit_code
from tests.each import for_each
from tests.unit.diagnose.report.machine import rules, seen, valid_junit
from tests.unit.diagnose.report.test_machine_formats import RUN

STUCK = seen("coordinator-stuck")


@for_each(
    ("maintenance", "alive", "code", "monitored"),
    [
        ("", None, CRITICAL, 2),
        ("upgrade", None, HEALTHY, 0),
        ("upgrade", True, HEALTHY, 0),
        ("upgrade", False, WARNINGS, 1),
    ],
)
def test_only_an_unfinished_run_without_a_process_is_an_alarm(
    maintenance: str, alive: bool | None, code: int, monitored: int
) -> None:
    runs = () if alive is None else (replace(RUN, alive=alive),)
    diagnosis = replace(STUCK, maintenance=maintenance, unfinished=runs)
    assert (exit_code(diagnosis), nagios_exit_code(diagnosis)) == (code, monitored)


@for_each("unread", [(), ("zookeeper: gone",)])
def test_a_check_with_a_finding_or_an_unread_source_is_skipped_with_the_reason(unread: tuple[str, ...]) -> None:
    diagnosis = replace(STUCK, maintenance="upgrade", could_not_read=unread)
    suite = valid_junit(findings_junit(diagnosis, rules()))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    skipped = {
        case.get("name").split()[0]
        for case in suite.findall("testcase")
        if (why := case.find("skipped")) is not None and why.get("message") == "in maintenance: upgrade"
    }
    bad = {finding.code for finding in diagnosis.walk() if finding.severity > Severity.INFO}
    assert bad
    assert skipped >= bad
    assert (skipped == bad) is not bool(unread)
