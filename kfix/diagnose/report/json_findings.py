"""A diagnosis as JSON, `kfix.diagnosis/v1`: fields are added, never renamed or taken away within v1.

schema          "kfix.diagnosis/v1"
cluster         id, or address if the id is unknown
profile         the cluster's name in the inventory it was read with (--cluster), "" without one
taken_at        seconds since the epoch, UTC
worst           "info", "warning", "critical", or null if nothing was found
exit_code       exit code of `kfix diagnose`: 0, 20, 21, 22
looked_at       counts: brokers, registered (only if known), topics, partitions, groups, probes, sources, milliseconds
notes           sentences about what is under way and is no fault, such as a reassignment
headlines       what keeps the cluster from being called healthy although nothing is an alarm, such as a restart
could_not_read  sources that failed, with the error; what they would have shown is unknown
prevention      true: latent risks were judged too
vantages        places that the snapshot was merged from (saved with --vantage), [] for a live one; each:
    name, taken_at
    reach                by "broker N" and "zookeeper HOST:PORT": true, false, or null if it was not asked from there
    errors               the error of each that is false
unfinished_runs  runs on this cluster that were begun on this host and not finished, [] for a saved snapshot; each:
    id, runbook, finding, user, host, kfix
    began, last          times of the first and the last record of its journal, ISO 8601, UTC
    outcome              how it ended, "" if it was killed or is still being carried out
    alive                true: its process is still carrying it out; it does not count for exit_code
    changed, doubtful    its steps: changed the cluster; issued, and the result was not recorded
    throttles            true: it has set throttles that it has not removed
    compaction           true: it has set settings that hasten compaction, and has not restored them
    broken               true: its journal is damaged, so there may be more
    options              what a command about it has to repeat to reach the cluster, "" if nothing
muted           findings that the inventory mutes, which are not in `findings` and do not count; each:
    reason, until, by    of the mute; until is its last day
    finding              the finding with those that it explains, same shape as in `findings`
hidden          findings that --only, --topic or --min-severity left out, which no other field has; each:
    key, code, object, severity
maintenance     reason of the current maintenance window, "" without one; then exit_code counts no finding
findings        heads, worst first; each:
    key, code, object    key is stable over runs; the object may list brokers that come and go
    severity, worst      its own, and the worst of itself and its folded findings
    summary              one sentence with numbers
    unsettled            true: it has just begun; an ordinary election shows the same
    prevention           true: a latent risk, nothing is broken by it today
    cause                text, confidence: certain, likely, possible, unknown
    evidence             source, what, value, age (seconds or null)
    blocked              who, groups (by name), others_unknown
    remedies             safest first: text, command ("" if an operator must act), runbook ("" if none), changes (which
                         of election, controller election, unclean election, reassignment, registration, start,
                         restart it makes), brokers (those it restarts), after (key of the finding that forbids it and
                         has to be resolved first, or "")
    never                what not to do, and why
    partitions           "topic-number"
    facts                values that a runbook refers to as finding.NAME
    follows              keys of findings that explain this one
    folded               findings that follow from this one, same shape
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.harmless import for_json
from kfix.diagnose.report.reach import vantages_json
from kfix.diagnose.report.verdict import exit_code

SCHEMA = "kfix.diagnosis/v1"


def findings_json(diagnosis: Diagnosis, *, indent: int | None = 2) -> str:
    return for_json(as_dict(diagnosis), indent=indent)


def as_dict(diagnosis: Diagnosis) -> Mapping[str, Any]:
    return {
        "schema": SCHEMA,
        "cluster": diagnosis.cluster,
        "profile": diagnosis.profile,
        "taken_at": diagnosis.taken_at,
        "worst": None if diagnosis.worst is None else diagnosis.worst.word,
        "exit_code": exit_code(diagnosis),
        "looked_at": dict(diagnosis.looked_at),
        "notes": list(diagnosis.notes),
        "headlines": list(diagnosis.headlines),
        "could_not_read": list(diagnosis.could_not_read),
        "prevention": diagnosis.prevention,
        "vantages": vantages_json(diagnosis.vantages),
        "unfinished_runs": [asdict(run) for run in diagnosis.unfinished],
        "findings": [finding_dict(f) for f in diagnosis.findings],
        "muted": [
            {"reason": m.reason, "until": m.until, "by": m.by, "finding": finding_dict(m.finding)}
            for m in diagnosis.muted
        ],
        "hidden": [
            {"key": f.key, "code": f.code, "object": f.obj, "severity": f.severity.word}
            for f in (*diagnosis.hidden.findings, *diagnosis.hidden.muted)
        ],
        "maintenance": diagnosis.maintenance,
    }


def finding_dict(finding: Finding) -> Mapping[str, Any]:
    return {
        "key": finding.key,
        "code": finding.code,
        "object": finding.obj,
        "severity": finding.severity.word,
        "worst": finding.worst.word,
        "summary": finding.summary,
        "unsettled": finding.unsettled,
        "prevention": finding.prevention,
        "cause": {"text": finding.cause.text, "confidence": finding.cause.confidence.value},
        "evidence": [asdict(e) for e in finding.evidence],
        "blocked": {
            "who": finding.blocked.who,
            "groups": list(finding.blocked.groups),
            "others_unknown": finding.blocked.others_unknown,
        },
        "remedies": [asdict(r) for r in finding.remedies],
        "never": list(finding.never),
        "partitions": [str(tp) for tp in finding.partitions],
        "facts": {k: list(v) if isinstance(v, tuple) else v for k, v in finding.facts.items()},
        "follows": list(finding.follows),
        "folded": [finding_dict(f) for f in finding.folded],
    }
