"""Generated pages are fresh (KFIX_UPDATE_GOLDEN=1 writes them again), and no page points into the void."""

import os
import re

import pytest
import yaml

from kfix.diagnose.report import json_findings
from kfix.fleet.report import history_rows, json_audit
from kfix.fleet.report import whatif as fleet_whatif
from kfix.front import failure
from kfix.incident.report import json_incident
from kfix.inspect import json_logdir as logdir_json
from kfix.watch.report import json_turn
from kfix.whatif import json_forecast
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
        ("# JSON of `kfix diagnose --json`", "kfix/diagnose/report/json_findings.py", json_findings),
        ("# JSON of an error", "kfix/front/failure.py", failure),
        ("# JSON of `kfix inspect log-dir --json`", "kfix/inspect/json_logdir.py", logdir_json),
        ("# JSON of `kfix watch --json`", "kfix/watch/report/json_turn.py", json_turn),
        ("# JSON of `kfix whatif --json`", "kfix/whatif/json_forecast.py", json_forecast),
        ("# JSON of `kfix fleet whatif --json`", "kfix/fleet/report/whatif.py", fleet_whatif),
        ("# JSON of the audit", "kfix/fleet/report/json_audit.py", json_audit),
        ("# JSON of `kfix audit history --json`", "kfix/fleet/report/history_rows.py", history_rows),
        ("# JSON of the report of an incident", "kfix/incident/report/json_incident.py", json_incident),
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
