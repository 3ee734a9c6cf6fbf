"""JSON, CSV and Prometheus, each read back by its own parser; hostile names come back as they were."""

import csv
import io
import json
from dataclasses import replace
from functools import cache

import jsonschema
from prometheus_client.parser import text_string_to_metric_families

from kfix.core.harmless import for_terminal, one_line
from kfix.fleet.report.csv_audit import CLUSTERS, FINDINGS, audit_csv
from kfix.fleet.report.json_audit import audit_json
from kfix.fleet.report.prometheus import audit_metrics
from kfix.fleet.report.verdict import FailOn
from tests.each import for_each
from tests.unit.fleet.report.reports import HOSTILE, dark, empty, report


@cache
def reports():
    return [report(1), report(30), report(20, hostile=True), empty(), dark()]


SCORE = {"type": ["number", "null"], "minimum": 0, "maximum": 100}
TIME = {"type": ["string", "null"], "pattern": r"^\d{4}-\d\d-\d\dT[\d:.]{12}Z$"}
SCHEMA = {
    "type": "object",
    "required": ["schema", "day", "run", "previous", "exit_code", "totals", "clusters", "findings", "trend", "mutes"],
    "properties": {
        "schema": {"const": "kfix.audit/v1"},
        "exit_code": {"enum": [0, 20, 21, 22]},
        "previous": {"type": ["object", "null"]},
        "totals": {"type": "object", "properties": {"score": SCORE, "unknown": {"type": "integer"}}},
        "clusters": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["cluster", "score", "collected", "taken_at", "scores"],
                "properties": {
                    "score": SCORE,
                    "tags": {"type": "array"},
                    "taken_at": TIME,
                },
            },
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["cluster", "key", "status", "next", "document"],
                "properties": {
                    "status": {"enum": ["new", "still", "worse", "fixed", "unknown"]},
                    "document": {"type": ["object", "null"]},
                    "next": {"type": "string", "minLength": 1},
                },
            },
        },
    },
}


@for_each("given", reports)
def test_json_holds_everything(given):
    said = json.loads(audit_json(given, fail_on=FailOn.CRITICAL))
    jsonschema.validate(said, SCHEMA)
    assert [c["cluster"] for c in said["clusters"]] == [c.cluster for c in given.clusters]
    assert [f["key"] for f in said["findings"]] == [f.key for f in given.findings]
    assert said["fail_on"] == "critical"
    assert said["totals"]["clusters"] == len(given.clusters)
    for row, card in zip(given.clusters, said["clusters"], strict=True):
        assert card["score"] == (row.score if row.collected else None)


def test_json_has_the_document_as_an_object_and_null_for_a_damaged_one():
    given = report(5)
    assert json.loads(audit_json(given))["findings"][0]["document"]["evidence"][0]["source"] == "zookeeper"
    for damaged in ("{", "[1]", "", '{"a": NaN}'):
        broken = replace(given, findings=(replace(given.findings[0], document=damaged),))
        assert json.loads(audit_json(broken, indent=None))["findings"][0]["document"] in (None, {"a": None})


@for_each("given", reports)
def test_csv_has_a_row_a_finding_and_a_row_a_cluster(given):
    text = audit_csv(given)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == len(given.findings)
    assert text.splitlines()[0] == ",".join(FINDINGS)
    assert text.endswith("\r\n")
    for row, shown in zip(given.findings, rows, strict=True):
        assert shown["n_partitions"] == str(row.n_partitions)
        assert shown["summary"].lstrip("'") == one_line(row.summary).lstrip("'")
    cards = list(csv.DictReader(io.StringIO(audit_csv(given, clusters=True), newline=""), strict=True))
    assert tuple(cards[0]) == CLUSTERS
    assert [c["score"] for c in cards] == [str(c.score) if c.collected else "" for c in given.clusters]


def test_no_cell_is_a_formula():
    rows = csv.reader(io.StringIO(audit_csv(report(30, hostile=True)), newline=""))
    assert not [cell for row in rows for cell in row if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t"))]


def samples(given):
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(audit_metrics(given))
        for s in family.samples
    }


@for_each("given", reports)
def test_prometheus_reads_every_number_back(given):
    text = audit_metrics(given)
    read = samples(given)
    assert len(read) == sum(not line.startswith("#") for line in text.split("\n")) - 1
    assert text.count("# HELP ") == text.count("# TYPE ")
    names = [line.split()[2] for line in text.split("\n") if line.startswith("# TYPE ")]
    assert len(names) == len(set(names))
    assert read["kfix_audit_clusters", ()] == len(given.clusters)
    for row in given.clusters:
        label = (("cluster", for_terminal(row.cluster).replace("\t", "\\t")),)
        assert read["kfix_audit_cluster_collected", label] == row.collected
        assert read.get(("kfix_audit_cluster_score", label)) == (row.score if row.collected else None)


def test_unknown_is_absent_and_never_zero():
    text = audit_metrics(dark())
    assert "kfix_audit_fleet_score" not in text
    assert "kfix_audit_cluster_score" not in text
    assert "kfix_audit_findings{" not in text
    assert samples(dark())["kfix_audit_clusters_collected", ()] == 0
    assert " NaN" not in text


def test_prometheus_series_are_bounded():
    assert len(samples(report(100, findings=12))) < 100 * (25 + 18) + 20


def test_hostile_names_are_labels_and_nothing_else():
    labels = {dict(key[1]).get("cluster") for key in samples(report(len(HOSTILE), hostile=True))}
    assert HOSTILE[2] in labels
    assert HOSTILE[10] in labels
