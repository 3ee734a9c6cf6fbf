"""Generated pages are fresh (KFIX_UPDATE_GOLDEN=1 writes them again), and no page points into the void."""

import os
import re

import pytest
import yaml

from kfix.report import failure
from kfix.report.disk import json_logdir as logdir_json
from kfix.report.findings import json_findings
from kfix.report.fleet import history_rows, json_audit
from kfix.report.fleet import whatif as fleet_whatif
from kfix.report.forecast import json_forecast
from kfix.report.incident import json_incident
from kfix.report.watch import json_turn
from tests import shipped
from tests.catalogue.pages import commands_page, tables_page
from tests.catalogue.snapshot_page import snapshot_page
from tests.places import ROOT
from tests.security import matrix as security_matrix


def runbooks_page():
    rows = [
        f"| [{book.id}]({book.id}.yaml) | {', '.join(book.codes)} | {', '.join(s.id for s in book.steps)} |"
        for book in shipped.runbooks().values()
    ]
    return "\n".join(
        [
            "# Runbooks",
            "",
            "Generated from the files. Fields, gates and exit codes: [docs/runbooks.md](../docs/runbooks.md);",
            "`kfix runbook show NAME` prints one as a page, with manual commands.",
            "",
            "| runbook | for | steps, safest first |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def json_page():
    parts = [
        ("# JSON of `kfix diagnose --json`", "kfix/report/findings/json_findings.py", json_findings),
        ("# JSON of an error", "kfix/report/failure.py", failure),
        ("# JSON of `kfix inspect log-dir --json`", "kfix/report/disk/json_logdir.py", logdir_json),
        ("# JSON of `kfix watch --json`", "kfix/report/watch/json_turn.py", json_turn),
        ("# JSON of `kfix whatif --json`", "kfix/report/forecast/json_forecast.py", json_forecast),
        ("# JSON of `kfix fleet whatif --json`", "kfix/report/fleet/whatif.py", fleet_whatif),
        ("# JSON of the audit", "kfix/report/fleet/json_audit.py", json_audit),
        ("# JSON of `kfix audit history --json`", "kfix/report/fleet/history_rows.py", history_rows),
        ("# JSON of the report of an incident", "kfix/report/incident/json_incident.py", json_incident),
    ]
    return "\n".join(
        f"{title}\n\nGenerated from `{path}`.\n\n```\n{module.__doc__.strip()}\n```\n" for title, path, module in parts
    )


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("runbooks/README.md", runbooks_page),
        ("docs/json.md", json_page),
        ("docs/commands.md", commands_page),
        ("docs/tables.md", tables_page),
        ("docs/snapshot-fields.md", snapshot_page),
        ("docs/security-matrix.md", security_matrix.page),
    ],
)
def test_a_generated_page_is_fresh(name, make):
    path = ROOT / name
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.write_text(make())
    assert path.read_text() == make(), "KFIX_UPDATE_GOLDEN=1 rewrites it"


def test_every_yaml_block_of_the_docs_loads():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for block in re.findall(r"```ya?ml\n(.*?)```", page.read_text(), re.DOTALL):
            assert yaml.safe_load(block) is not None, page


def test_no_page_points_at_a_file_that_is_not_there():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
