"""Generated pages are fresh (KFIX_UPDATE_GOLDEN=1 writes them again), and no page points into the void."""

import os
import re

import pytest
import yaml

from tests import shipped
from tests.catalogue.json_page import json_page
from tests.catalogue.man_page import man_page
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


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("runbooks/README.md", runbooks_page),
        ("docs/json.md", json_page),
        ("docs/commands.md", commands_page),
        ("docs/man/kfix.1", man_page),
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
