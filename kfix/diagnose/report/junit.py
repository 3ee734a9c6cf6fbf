"""A diagnosis as a JUnit report: a test case for each check that was judged.

- A check fails if it has warnings or critical findings, consequences of other findings included. With advice alone it
  passes, and the advice is its output.
- If a source was not read, a check that found nothing is an error, since the source might have shown something.
- A check is skipped if it cannot find anything here (a KRaft check on a cluster with ZooKeeper), if the reader left out
  its warnings and critical findings, or if all its findings are muted.
- For a cluster in maintenance, failures and errors are skipped as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kfix.core.derive.checks import Check
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Diagnosis, Finding, MutedFinding, Severity
from kfix.core.harmless import for_terminal, one_line, shown
from kfix.core.wording import several
from kfix.diagnose.report.table import finding_lines, unfinished_lines
from kfix.diagnose.report.verdict import UNREAD, cut_short
from kfix.front.lines import lines_text

_SUITE: Final = "kfix diagnose"
_WIDTH: Final = 100


def findings_junit(diagnosis: Diagnosis, checks: Iterable[Check]) -> str:
    found = grouped((finding.code, finding) for finding in diagnosis.walk())
    every = (replace(each, finding=finding) for each in diagnosis.muted for finding in each.finding.walk())
    muted = grouped((each.finding.code, each) for each in every)
    cases = [_case(check, found.get(check.code, []), muted.get(check.code, []), diagnosis) for check in checks]
    if runs := cut_short(diagnosis):
        case = Element("testcase", classname="kfix.runs", name="unfinished runs")
        message = f"run {runs[0].id} of {runs[0].user} is unfinished"
        _add(case, "failure", "warning", message, lines_text(unfinished_lines(runs), _WIDTH))
        cases.append(case)
    name = f"{diagnosis.profile} ({diagnosis.cluster})" if diagnosis.profile else diagnosis.cluster
    return _report(f"{_SUITE} {name}", cases, diagnosis.taken_at, diagnosis.looked_at.get("milliseconds", 0))


def failure_junit(sentence: str, hint: str = "") -> str:
    """Returns the report of a diagnosis that failed: one test case, which is an error."""
    case = Element("testcase", classname="kfix", name="diagnosis")
    _add(case, "error", "error", sentence, f"{shown(sentence)}\n{shown(hint)}".strip())
    return _report(_SUITE, [case])


def _case(check: Check, found: Sequence[Finding], muted: Sequence[MutedFinding], diagnosis: Diagnosis) -> Element:
    unread = diagnosis.could_not_read
    case = Element("testcase", classname=f"kfix.{check.subject}", name=f"{check.code} {check.slug}")
    bad = sorted((f for f in found if f.severity > Severity.INFO), key=lambda f: -f.severity)
    if diagnosis.maintenance and (bad or unread):
        _add(case, "skipped", "maintenance", f"in maintenance: {diagnosis.maintenance}", _text(bad))
    elif check.code == UNREAD and unread:
        _add(case, "error", "unread", f"not read: {unread[0]}{_more(unread)}", "\n".join(map(one_line, unread)))
    elif bad:
        worst = bad[0]
        _add(case, "failure", worst.severity.word, f"{worst.summary}{_more(bad)}", _text(bad))
    elif reason := diagnosis.inapplicable.get(check.code, ""):
        _add(case, "skipped", "inapplicable", f"not judged: {reason}", "")
    elif hidden := [f for f in diagnosis.hidden.alarms if f.code == check.code]:
        names = "\n".join(one_line(f"{finding.severity.word} {finding.key}") for finding in hidden)
        _add(case, "skipped", "not shown", f"{several(len(hidden), 'finding')} not shown", names)
    elif unread:
        why = f"not judged, because a source was not read: {unread[0]}{_more(unread)}"
        _add(case, "error", "unread", why, "\n".join(map(one_line, unread)))
    elif muted:
        first = muted[0]
        why = f"muted until {first.until}: {first.reason}{_more(muted)}"
        _add(case, "skipped", "muted", why, _text(each.finding for each in muted))
    if advice := [f for f in found if f.severity is Severity.INFO and f.code != UNREAD]:
        SubElement(case, "system-out").text = for_terminal(_text(advice))
    return case


def _more(items: Sequence[object]) -> str:
    return f" (and {len(items) - 1} more)" if len(items) > 1 else ""


def _text(findings: Iterable[Finding]) -> str:
    """Returns the findings without those folded under them, which are test cases themselves."""
    return "\n".join(lines_text(finding_lines(finding.with_folded(())), _WIDTH) for finding in findings)


def _add(case: Element, kind: str, type_: str, message: str, text: str) -> None:
    SubElement(case, kind, type=type_, message=one_line(message)).text = for_terminal(text)


def _report(name: str, cases: Sequence[Element], taken_at: float | None = None, milliseconds: int = 0) -> str:
    totals = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    root = Element("testsuites", totals)
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    suite = SubElement(root, "testsuite", {"name": one_line(name), **totals, "skipped": skipped})
    suite.set("time", f"{milliseconds / 1000:.3f}")
    if taken_at is not None:
        suite.set("timestamp", datetime.fromtimestamp(taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    suite.extend(cases)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
