"""A diagnosis as JSON, `kfix.diagnosis/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kfix.core.declared import Count, FieldMark, Pattern, Seconds
from kfix.core.derive.vantage import reach_of
from kfix.core.diagnosis.finding import Blocked, Cause, Diagnosis, Evidence, FactValue, Finding, Remedy, Severity
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.run import UnfinishedRun
from kfix.diagnose.report.verdict import exit_code

ExitCode = Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
Key = Annotated[str, Pattern("^KFX[0-9]{3}:"), "stable over runs"]
Code = Annotated[str, Pattern("^KFX[0-9]{3}$")]
PartitionName = Annotated[str, Pattern("-[0-9]+$"), "topic-number"]


class FindingJson:
    """A fault or a latent risk."""

    key: Key
    code: Code
    object: Annotated[str, "may list brokers that come and go"]
    severity: Severity
    worst: Annotated[Severity, "the worst of itself and its folded findings"]
    summary: Annotated[str, "one sentence with numbers"]
    unsettled: Annotated[bool, "true: it has just begun; an ordinary election shows the same"]
    prevention: Annotated[bool, "true: a latent risk, nothing is broken by it today"]
    cause: Cause
    evidence: tuple[Evidence, ...]
    blocked: Blocked
    remedies: Annotated[tuple[Remedy, ...], "safest first"]
    never: Annotated[tuple[str, ...], "what not to do, and why"]
    partitions: tuple[PartitionName, ...]
    facts: Annotated[Mapping[str, FactValue], "values that a runbook refers to as finding.NAME"]
    follows: Annotated[tuple[str, ...], "keys of findings that explain this one"]
    folded: Annotated[tuple[FindingJson, ...], "findings that follow from this one"]


class LookedAtJson:
    """How much was read."""

    brokers: Count
    registered: Annotated[Count, FieldMark.OPTIONAL, "only if known"]
    topics: Count
    partitions: Count
    groups: Count
    probes: Count
    sources: Count
    milliseconds: Count


class VantageJson:
    """A place that the snapshot was taken from."""

    name: str
    taken_at: Seconds
    reach: Annotated[Mapping[str, bool | None], 'by "broker N" and "zookeeper HOST:PORT"; null: not asked from there']
    errors: Annotated[Mapping[str, str], "the error of each that is false"]


class MutedJson:
    """A finding that the inventory mutes."""

    reason: str
    until: Annotated[str, Pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), "the last day"]
    by: str
    finding: Annotated[FindingJson, "with those that it explains"]


class HiddenJson:
    """A finding that --only, --topic or --min-severity left out."""

    key: str
    code: str
    object: str
    severity: Severity


class DiagnosisJson:
    """A diagnosis: kfix diagnose --format json"""

    schema: Literal["kfix.diagnosis/v1"]
    cluster: Annotated[str, "id, or address if the id is unknown"]
    profile: Annotated[str, 'the name in the inventory it was read with (--cluster), "" without one']
    taken_at: Seconds
    worst: Annotated[Severity | None, "null where nothing was found"]
    exit_code: ExitCode
    looked_at: LookedAtJson
    notes: Annotated[tuple[str, ...], "what is under way and is no fault, such as a reassignment"]
    headlines: Annotated[tuple[str, ...], "what keeps it from being called healthy although nothing is an alarm"]
    could_not_read: Annotated[tuple[str, ...], "sources that failed, with the error; what they would show is unknown"]
    prevention: Annotated[bool, "true: latent risks were judged too"]
    vantages: Annotated[tuple[VantageJson, ...], "places that the snapshot was merged from (saved with --vantage)"]
    unfinished_runs: Annotated[tuple[UnfinishedRun, ...], "those begun on this host; [] for a saved snapshot"]
    findings: Annotated[tuple[FindingJson, ...], "heads, worst first"]
    muted: Annotated[tuple[MutedJson, ...], "not in `findings`, and not counted"]
    hidden: Annotated[tuple[HiddenJson, ...], "no other field has them"]
    maintenance: Annotated[str, 'reason of the current maintenance window, "" if none; exit_code then counts nothing']


def findings_json(diagnosis: Diagnosis, *, indent: int | None = 2) -> str:
    return for_json(as_dict(diagnosis), indent=indent)


def as_dict(diagnosis: Diagnosis) -> Mapping[str, Any]:
    hidden = (*diagnosis.hidden.findings, *diagnosis.hidden.muted)
    return written(
        DiagnosisJson,
        diagnosis,
        exit_code=exit_code(diagnosis),
        vantages=[
            written(VantageJson, row.vantage, reach=row.cells, errors=row.vantage.unreached)
            for row in reach_of(diagnosis.vantages)
        ],
        unfinished_runs=diagnosis.unfinished,
        findings=[finding_dict(f) for f in diagnosis.findings],
        muted=[written(MutedJson, muted, finding=finding_dict(muted.finding)) for muted in diagnosis.muted],
        hidden=[written(HiddenJson, finding, object=finding.obj) for finding in hidden],
    )


def finding_dict(finding: Finding) -> Mapping[str, Any]:
    return written(
        FindingJson,
        finding,
        object=finding.obj,
        partitions=[str(tp) for tp in finding.partitions],
        folded=[finding_dict(each) for each in finding.folded],
    )
