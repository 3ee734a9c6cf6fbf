"""SARIF, JUnit and Prometheus: valid by the published schemas, and never better than the diagnosis."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema
from prometheus_client.parser import text_string_to_metric_families

from kfix.core.diagnosis.finding import Diagnosis, MutedFinding, Severity
from kfix.core.run import UnfinishedRun
from kfix.diagnose.diagnosis import choice_of, chosen, judged_checks
from kfix.diagnose.report.formats import Format, document, exit_code_of
from kfix.diagnose.report.group_story import group_json
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.junit import failure_junit, findings_junit
from kfix.diagnose.report.metrics import failure_metrics, findings_metrics
from kfix.diagnose.report.sarif import FINGERPRINT, failure_sarif, findings_sarif
from kfix.diagnose.report.verdict import UNREAD, exit_code, nagios_line
from kfix.front.failure import failure_json
from kfix.shell.schemas import OUTPUTS, schema_of
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.ladder.ladder import explain_group
from tests.each import for_each
from tests.unit.diagnose.report.machine import merged, rules, seen, valid_junit, valid_sarif
from tests.unit.diagnostics.test_incidents import INCIDENTS

BOTH = for_each("prevention", [False, True])
EACH = for_each("name", INCIDENTS)
RUN = UnfinishedRun(
    "1", "r", "KFX101:x", "ann", "h", "0", "2026-01-01", "2026-01-01", "", False, ("s",), (), False, False, False, False
)


def found(diagnosis: Diagnosis) -> Counter[str]:
    return Counter(f.key for f in diagnosis.walk() if f.code != UNREAD)


def strict(schema: Any) -> Any:
    """Returns the schema without room for further fields: a field that it does not describe is an error."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if "properties" in closed and closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


@cache
def strict_validator(name: str) -> jsonschema.Draft202012Validator:
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(strict(schema))


def check_output(name: str, text: str) -> None:
    strict_validator(name).validate(json.loads(text))


@EACH
@BOTH
def test_a_sarif_log_is_valid_and_has_every_finding(name: str, prevention: bool) -> None:
    diagnosis = seen(name, prevention=prevention)
    run = valid_sarif(findings_sarif(diagnosis, rules(prevention=prevention)))
    assert Counter(r["properties"]["key"] for r in run["results"]) == found(diagnosis)
    described = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        rule = described[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"].startswith(rule["id"])
    assert all("helpUri" not in rule for rule in described)
    levels = {r["level"] for r in run["results"]}
    assert ("error" in levels) == (diagnosis.worst is Severity.CRITICAL)
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] == (not diagnosis.could_not_read)
    assert invocation["exitCode"] == exit_code(diagnosis)


def test_partitions_are_logical_locations_and_fingerprints_are_those_of_the_key() -> None:
    [first, *_] = valid_sarif(findings_sarif(seen("coordinator-stuck"), rules()))["results"]
    [place] = first["locations"][0]["logicalLocations"]
    assert place["name"] == "__consumer_offsets-43"
    assert place["fullyQualifiedName"].endswith("/__consumer_offsets/43")
    again = valid_sarif(findings_sarif(replace(seen("coordinator-stuck"), taken_at=1.0), rules()))["results"]
    assert again[0]["partialFingerprints"] == first["partialFingerprints"]
    prints = [r["partialFingerprints"][FINGERPRINT] for r in again]
    assert len(set(prints)) == len(prints)
    other = replace(seen("coordinator-stuck"), cluster="another")
    [head, *_] = valid_sarif(findings_sarif(other, rules()))["results"]
    assert head["partialFingerprints"] != first["partialFingerprints"]


@EACH
@BOTH
def test_a_junit_report_is_valid_and_passes_only_what_was_judged(name: str, prevention: bool) -> None:
    diagnosis = seen(name, prevention=prevention)
    suite = valid_junit(findings_junit(diagnosis, rules(prevention=prevention)))
    cases = {case.get("name").split()[0]: case for case in suite.findall("testcase")}
    assert cases.keys() == {rule.code for rule in rules(prevention=prevention)}
    bad = {f.code for f in diagnosis.walk() if f.severity > Severity.INFO and f.code != UNREAD}
    assert {code for code, case in cases.items() if case.find("failure") is not None} == bad
    passed = {code for code, case in cases.items() if not {e.tag for e in case} & {"failure", "error", "skipped"}}
    assert bool(passed) == (not diagnosis.could_not_read)
    assert not passed & diagnosis.inapplicable.keys()
    green = suite.get("failures") == suite.get("errors") == "0"
    assert green == (exit_code(diagnosis) == 0)


def test_a_check_that_cannot_find_anything_here_is_skipped_with_the_reason() -> None:
    suite = valid_junit(findings_junit(seen("coordinator-stuck"), rules()))
    cases = {case.get("name").split()[0]: case for case in suite.findall("testcase")}
    whys = {
        code: case.find("skipped").get("message") for code, case in cases.items() if case.find("skipped") is not None
    }
    assert whys["KFX811"] == "not judged: it concerns clusters on KRaft"
    assert whys["KFX117"] == "not judged: it concerns pasted text"
    assert whys["KFX110"] == "not judged: it needs --group"
    assert "KFX202" not in whys


CHOICES = {
    "--topic orders": choice_of([], ["orders"], "info", prevention=False),
    "--topic __consumer_offsets": choice_of([], ["__consumer_offsets"], "info", prevention=False),
    "--min-severity": choice_of([], [], "critical", prevention=False),
    "--only": choice_of(["KFX302"], [], "info", prevention=False),
}


@EACH
@for_each("choice", CHOICES)
def test_what_is_not_shown_is_no_pass_and_no_zero(name: str, choice: str) -> None:
    whole, asked = seen(name), CHOICES[choice]
    shown = chosen(whole, asked)
    suite = valid_junit(findings_junit(shown, judged_checks(asked)))
    passed = {
        case.get("name").split()[0]
        for case in suite.findall("testcase")
        if not {e.tag for e in case} & {"failure", "error", "skipped"}
    }
    assert not passed & {f.code for f in whole.walk() if f.severity > Severity.INFO}

    numbers = Counter(f.severity.word for f in whole.counted() if f.code != UNREAD)
    samples = {f.name: f.samples for f in text_string_to_metric_families(findings_metrics(shown))}
    zeros = {s.labels["severity"] for s in samples.get("kfix_diagnosis_findings", ()) if not s.value}
    assert not zeros & numbers.keys()
    zeros = {word for word in ("critical", "warning", "info") if f" {word}=0" in nagios_line(shown)}
    assert not zeros & numbers.keys()

    visible = {f.key for f in shown.walk()}
    missing = {f.key for f in whole.walk() if f.key not in visible and f.code != UNREAD}
    document_ = findings_json(shown)
    check_output("diagnosis", document_)
    assert {each["key"] for each in json.loads(document_)["hidden"]} == missing
    bad = {f.key for f in whole.walk() if f.severity > Severity.INFO} & missing
    assert samples["kfix_diagnosis_hidden_findings"][0].value == len(bad)
    notes = valid_sarif(findings_sarif(shown, judged_checks(asked)))["invocations"][0]["toolExecutionNotifications"]
    said = [note["message"]["text"] for note in notes if "not shown" in note["message"]["text"]]
    assert len(said) == len(bad)
    assert all(any(key in each for each in said) for key in bad)


def test_the_case_of_a_check_whose_finding_is_not_shown_names_it() -> None:
    shown = chosen(seen("coordinator-stuck"), CHOICES["--topic orders"])
    suite = valid_junit(findings_junit(shown, rules()))
    [skipped] = [c.find("skipped") for c in suite.findall("testcase") if c.get("name").startswith("KFX101 ")]
    assert (skipped.get("type"), skipped.get("message")) == ("not shown", "1 finding not shown")
    assert "critical KFX101:" in skipped.text


def test_muted_findings_and_runs_that_are_not_shown_are_no_zero_either() -> None:
    whole = seen("metadata-divergence")
    muted = tuple(MutedFinding(f, "known", "2030-01-01") for f in whole.findings)
    quiet = replace(whole, findings=(), muted=muted, unfinished=(RUN,))
    shown = chosen(quiet, CHOICES["--only"])
    names = {f.name for f in text_string_to_metric_families(findings_metrics(shown))}
    assert not names & {"kfix_diagnosis_muted_findings", "kfix_diagnosis_unfinished_runs"}
    assert "1 finding is not shown; 1 unfinished run is not shown" in nagios_line(shown)
    shown = chosen(quiet, CHOICES["--min-severity"])
    suite = valid_junit(findings_junit(shown, rules()))
    code = whole.findings[0].code
    [case] = [c for c in suite.findall("testcase") if c.get("name").startswith(f"{code} ")]
    assert case.find("skipped").get("type") == "not shown"


def test_a_source_that_was_not_read_is_an_error_of_every_check_that_found_nothing() -> None:
    suite = valid_junit(findings_junit(seen("unread-zookeeper"), rules()))
    [case] = [c for c in suite.findall("testcase") if c.get("name").startswith("KFX101 ")]
    assert "not judged, because a source was not read: zookeeper" in case.find("error").get("message")


@EACH
@BOTH
def test_the_metrics_parse_and_count_what_the_diagnosis_counts(name: str, prevention: bool) -> None:
    diagnosis = replace(seen(name, prevention=prevention), profile='eu "1"\n')
    families = {f.name: f for f in text_string_to_metric_families(findings_metrics(diagnosis))}
    value = {n: f.samples[0].value for n, f in families.items()}
    assert value["kfix_diagnosis_success"] == 1
    assert value["kfix_diagnosis_exit_code"] == exit_code(diagnosis)
    assert value["kfix_diagnosis_unread_sources"] == len(diagnosis.could_not_read)
    assert {s.labels["cluster"] for f in families.values() for s in f.samples} == {'eu "1"\n'}
    shown = families.get("kfix_diagnosis_findings")
    by_severity = {s.labels["severity"]: s.value for s in shown.samples} if shown else {}
    assert sum(by_severity.values()) == sum(each.code != UNREAD for each in diagnosis.counted())
    # A zero would be a guess where something was not read.
    assert (0 in by_severity.values()) <= (not diagnosis.could_not_read)
    assert sum(len(f.samples) for f in families.values()) <= 17 + len({f.code for f in diagnosis.walk()})


@EACH
@BOTH
def test_the_schema_of_the_json_describes_every_field(name: str, prevention: bool) -> None:
    check_output("diagnosis", findings_json(seen(name, prevention=prevention)))


def test_the_schemas_describe_vantages_runs_groups_and_errors() -> None:
    check_output("diagnosis", findings_json(merged()))
    check_output("diagnosis", findings_json(replace(seen("healthy"), unfinished=(RUN,))))
    for name in ("healthy", "coordinator-stuck", "unread-zookeeper"):
        snapshot = INCIDENTS[name][0]()
        for group in ("billing", "g1", "no-such-group"):
            check_output("group", group_json(explain_group(snapshot, diagnose(snapshot), group)))
    check_output("error", failure_json("no", 22, "try again"))


def test_a_schema_refuses_what_is_no_diagnosis() -> None:
    validator = jsonschema.Draft202012Validator(schema_of("diagnosis"))
    said = json.loads(findings_json(seen("coordinator-stuck")))
    assert validator.is_valid(said | {"more": 1})
    assert not validator.is_valid(said | {"exit_code": 1})
    assert not validator.is_valid({k: v for k, v in said.items() if k != "findings"})
    said["findings"][0]["severity"] = "bad"
    assert not validator.is_valid(said)
    versions = {schema_of(name)["properties"]["schema"]["const"] for name in OUTPUTS}
    assert versions == {"kfix.diagnosis/v1", "kfix.group/v1", "kfix.watch/v1", "kfix.error/v1"}


def test_an_unfinished_run_is_no_pass() -> None:
    diagnosis = replace(seen("healthy"), unfinished=(RUN,))
    suite = valid_junit(findings_junit(diagnosis, rules()))
    assert suite.get("failures") == "1"
    run = valid_sarif(findings_sarif(diagnosis, rules()))
    assert "unfinished" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert "kfix_diagnosis_unfinished_runs" in findings_metrics(diagnosis)


def test_a_failure_is_an_error_in_every_format() -> None:
    suite = valid_junit(failure_junit("no broker answers \x1b[31m", "check the address"))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    run = valid_sarif(failure_sarif("no broker answers", 22, "check the address"))
    assert run["invocations"][0]["executionSuccessful"] is False
    [family] = text_string_to_metric_families(failure_metrics("orders"))
    assert [(s.labels, s.value) for s in family.samples] == [({"cluster": "orders"}, 0)]


@for_each("wanted", Format)
@EACH
def test_the_exit_code_does_not_depend_on_the_format(name: str, wanted: Format) -> None:
    diagnosis = seen(name)
    plugin = {0: 0, 20: 1, 21: 2, 22: 3}
    assert document(wanted, diagnosis, rules)
    code = exit_code(diagnosis)
    assert exit_code_of(wanted, diagnosis) == (plugin[code] if wanted is Format.NAGIOS else code)
