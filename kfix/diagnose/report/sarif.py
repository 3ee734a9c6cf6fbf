"""A diagnosis as SARIF 2.1.0, for the code scanning of CI systems.

- Each check is a rule with its page as help; each finding is a result, consequences of other findings included.
- Topic-partitions are logical locations, since a cluster has no files.
- `partialFingerprints` consist of the cluster and the finding's key, which are the same in the next diagnosis.
- A source that was not read is a notification of an unsuccessful invocation: an empty list of results is then not
  healthy.
- A warning or critical finding that the reader left out is a notification of a successful invocation.
- What the inventory mutes, and every finding of a cluster in maintenance, is a suppressed result.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kfix import __version__
from kfix.core.derive.checks import Check
from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.core.harmless import for_json, one_line
from kfix.diagnose.report.table import sentence
from kfix.diagnose.report.verdict import UNREAD, cut_short, exit_code

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The name under which results carry their fingerprint; a different algorithm gets a different name.
FINGERPRINT: Final = "kfixFinding/v1"
_LEVELS: Final = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def findings_sarif(diagnosis: Diagnosis, checks: Sequence[Check]) -> str:
    index = {check.code: number for number, check in enumerate(checks)}
    at_work = _suppressed(f"in maintenance: {diagnosis.maintenance}") if diagnosis.maintenance else {}
    results = [
        _result(diagnosis, finding, head, index) | at_work
        for finding, head in _all(diagnosis.findings)
        if finding.code != UNREAD
    ]
    results += [
        _result(diagnosis, finding, head, index) | _suppressed(f"muted until {muted.until}: {muted.reason}")
        for muted in diagnosis.muted
        for finding, head in _all((muted.finding,))
        if finding.code != UNREAD
    ]
    taken = datetime.fromtimestamp(diagnosis.taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes = [_notification(text, "error", {"id": UNREAD}) for text in diagnosis.could_not_read]
    notes += [
        _notification(f"Run {run.id} of {run.user} is unfinished; see kfix runbook history {run.id}", "warning")
        for run in cut_short(diagnosis)
    ]
    notes += [
        _notification(f"{finding.severity.word} {finding.key} is not shown", "warning", {"id": finding.code})
        for finding in diagnosis.hidden.alarms
    ]
    run: dict[str, Any] = {
        "tool": _tool(checks),
        "automationDetails": {"id": f"kfix/{_slashless(diagnosis.profile or diagnosis.cluster)}/"},
        "invocations": [
            {
                "executionSuccessful": not diagnosis.could_not_read,
                "exitCode": exit_code(diagnosis),
                "endTimeUtc": taken,
                "toolExecutionNotifications": notes,
            }
        ],
        "results": results,
        "properties": {
            "cluster": diagnosis.cluster,
            "profile": diagnosis.profile,
            "prevention": diagnosis.prevention,
            "lookedAt": dict(diagnosis.looked_at),
            "headlines": list(diagnosis.headlines),
            "notes": list(diagnosis.notes),
        },
    }
    return _log(run)


def failure_sarif(sentence_: str, code: int, hint: str = "") -> str:
    """Returns the log of a diagnosis that failed: no result, and an unsuccessful invocation."""
    text = f"{sentence_} ({hint})" if hint else sentence_
    invocation = {
        "executionSuccessful": False,
        "exitCode": code,
        "toolExecutionNotifications": [_notification(text, "error")],
    }
    return _log({"tool": _tool(()), "invocations": [invocation], "results": []})


def _log(run: Mapping[str, Any]) -> str:
    return for_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _tool(checks: Iterable[Check]) -> Mapping[str, Any]:
    # Rules have no severity: each result has its own level.
    described = [
        {
            "id": check.code,
            "name": check.slug,
            "shortDescription": {"text": sentence(f"{check.title[:1].upper()}{check.title[1:]}")},
            "fullDescription": {"text": sentence(check.title)},
            "help": {"text": check.page},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
            "properties": {"tags": [check.subject, *(["latent risk"] if check.prevention else [])]},
        }
        for check in checks
    ]
    return {"driver": {"name": "kfix", "version": __version__, "rules": described}}


def _all(findings: Iterable[Finding], head: str = "") -> Iterator[tuple[Finding, str]]:
    """Yields every finding, and the key of the outermost one that it is folded under, "" for a head."""
    for finding in findings:
        yield finding, head
        yield from _all(finding.folded, head or finding.key)


def _result(diagnosis: Diagnosis, finding: Finding, head: str, index: Mapping[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [{"logicalLocations": [*_places(diagnosis, finding)]}],
        "partialFingerprints": {FINGERPRINT: fingerprint(diagnosis.cluster, finding.key)},
        "properties": {
            "key": finding.key,
            "object": finding.obj,
            "cause": finding.cause.text,
            "confidence": finding.cause.confidence.value,
            "latentRisk": finding.prevention,
            "unsettled": finding.unsettled,
            "blockedGroups": list(finding.blocked.groups),
            "commands": [remedy.command for remedy in finding.remedies if remedy.command],
            "head": head,
        },
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    return result


def _suppressed(why: str) -> dict[str, Any]:
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": why}]}


def _message(finding: Finding) -> str:
    remedy = f" Next: {sentence(finding.remedies[0].text)}" if finding.remedies else ""
    return one_line(f"{finding.obj}: {sentence(finding.summary)} Cause: {sentence(finding.cause.text)}{remedy}")


def _places(diagnosis: Diagnosis, finding: Finding) -> Iterator[Mapping[str, str]]:
    cluster = _slashless(diagnosis.cluster)
    for tp in finding.partitions:
        yield {"name": str(tp), "fullyQualifiedName": f"{cluster}/{tp.topic}/{tp.partition}", "kind": "partition"}
    if not finding.partitions:
        yield {"name": finding.obj, "fullyQualifiedName": f"{cluster}/{_slashless(finding.obj)}", "kind": "object"}


def fingerprint(cluster: str, key: str) -> str:
    return hashlib.sha256(f"{cluster}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _slashless(text: str) -> str:
    return text.replace("/", "_")


def _notification(text: str, level: str, rule: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    return {"level": level, "message": {"text": text}} | ({"associatedRule": rule} if rule else {})
