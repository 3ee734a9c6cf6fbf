"""Manifests, alert rules and the dashboard: each is valid, and names only options and metrics that exist."""

from __future__ import annotations

import json
import re

import jsonschema
import promql_parser
import yaml

from tests.places import ROOT

EXAMPLES = ROOT / "examples"
RULES = EXAMPLES / "watch" / "prometheus-rules.yaml"
DASHBOARD = EXAMPLES / "grafana" / "kfix-watch.json"
TEXT = {"type": "string", "minLength": 1}
RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["alert", "expr", "labels", "annotations"],
    "properties": {
        "alert": {"type": "string", "pattern": "^K[a-z]+[A-Za-z]+$"},
        "expr": TEXT,
        "for": {"type": "string", "pattern": "^[0-9]+[smh]$"},
        "labels": {"properties": {"severity": {"enum": ["warning", "critical"]}}, "required": ["severity"]},
        "annotations": {"properties": {"summary": TEXT}, "required": ["summary"], "additionalProperties": TEXT},
    },
}
TARGET = {"type": "object", "required": ["refId", "expr", "legendFormat"]}
PANEL = {
    "type": "object",
    "required": ["id", "title", "type", "datasource", "gridPos", "fieldConfig", "targets"],
    "properties": {
        "type": {"enum": ["stat", "timeseries"]},
        "gridPos": {"properties": {"x": {"maximum": 23}, "w": {"maximum": 24}}, "required": ["x", "y", "w", "h"]},
        "targets": {"type": "array", "minItems": 1, "items": TARGET},
    },
}


def metrics():
    """The names of all metrics of the exporter."""
    text = (ROOT / "kfix" / "watch" / "report" / "metrics.py").read_text()
    named = set(re.findall(r'"([a-z_]{2,})"', text))
    return {f"kfix_watch_{name}" for name in named} | {f"kfix_watch_{name}_total" for name in named}


def used(text):
    return set(re.findall(r"\bkfix_watch_[a-z_]+", text))


def test_every_alert_is_valid_and_of_metrics_that_exist():
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    for rule in group["rules"]:
        jsonschema.validate(rule, RULE)
        assert used(rule["expr"]) <= metrics(), rule["alert"]
        promql_parser.parse(rule["expr"])
    assert any("absent(" in rule["expr"] for rule in group["rules"])


def test_the_dashboard_is_valid_and_of_metrics_that_exist():
    board = json.loads(DASHBOARD.read_text())
    assert {"title", "uid", "schemaVersion", "templating", "panels"} <= board.keys()
    assert {each["name"] for each in board["templating"]["list"]} == {"datasource", "cluster"}
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in board["panels"]:
        jsonschema.validate(panel, PANEL)
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for target in panel["targets"]:
            assert used(target["expr"]) <= metrics(), panel["title"]
            promql_parser.parse(re.sub(r"\$__\w+|\$\{?\w+\}?", "5m", target["expr"]))


def test_the_manifests_use_options_and_a_probe_that_exist():
    found = {each["kind"]: each for each in yaml.safe_load_all((EXAMPLES / "kubernetes/kfix-watch.yaml").read_text())}
    assert set(found) == {"Secret", "PersistentVolumeClaim", "Deployment", "Service"}
    pod = found["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == found["Service"]["spec"]["selector"] == labels
    [container] = pod["spec"]["containers"]
    reference = (ROOT / "docs/commands.md").read_text().split("\n## kfix watch\n")[1].split("\n## ")[0]
    assert [word for word in container["args"] if f"`{word.partition('=')[0]}" not in reference] == []
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["spec"]["volumes"]}
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
