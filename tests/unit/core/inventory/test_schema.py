"""`kfix schema inventory`: what the schema accepts and refuses is what the model does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from kfix.core.documents.nodes import parse
from kfix.core.errors import InvalidFileError
from kfix.core.inventory.load import parse_inventory
from kfix.shell.app import app
from tests.each import for_each
from tests.places import ROOT

HEAD = "apiVersion: kfix/v1\nkind: Fleet\n"
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    done = CliRunner().invoke(app, ["schema", "inventory"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def plain(text: str) -> Any:
    return parse(text, "inventory", 1 << 20).data


def inventories() -> list[tuple[str, str]]:
    """Returns every inventory of the repository: files under examples, and blocks of the documentation."""
    files = [(str(path.relative_to(ROOT)), path.read_text()) for path in sorted((ROOT / "examples").rglob("*.y*ml"))]
    pages = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
    blocks = [(str(page.relative_to(ROOT)), block) for page in pages for block in _BLOCK.findall(page.read_text())]
    return [(name, text) for name, text in (*files, *blocks) if re.search(r"^kind: Fleet$", text, re.MULTILINE)]


def test_the_inventories_of_the_repository_are_valid(schema: Draft202012Validator) -> None:
    found = inventories()
    assert "examples/fleet/fleet.yaml" in {name for name, _ in found}
    assert len(found) >= 2
    for name, text in found:
        assert [error.message for error in schema.iter_errors(plain(text))] == [], name


GOOD = (
    "a: {bootstrap: 'h:1'}",
    "a: {bootstrap: ['h:1', 'h:2'], bootstrap_controller: 'c:1', id: x, zones: {az1: Hamburg}}",
    "a: {zookeeper: 'z:1/kafka', timeout: 200ms, restart_grace: 1.5m, tags: [x], criticality: low, owner: me}",
    "a: {bootstrap: 'h:1', expected: {rf: 4, min_isr: 2}, windows: [{weekdays: [mon], at: '22:30', for: 2h}]}",
    "a: {bootstrap: 'h:1', windows: [{why: x, start: 2026-12-05T20:00Z, end: 2026-12-06T06:00Z}]}",
)
WRONG = (
    "",
    "a:",
    "a: {}",
    "a: {owner: me}",
    "a: {bootstrap: 7}",
    "a: {bootstrap: []}",
    "a: {bootstrap: 'h:1', unknown: x}",
    "a: {bootstrap: 'h:1', timeout: 5}",
    "a: {bootstrap: 'h:1', timeout: 5 weeks}",
    "a: {bootstrap: 'h:1', criticality: critcal}",
    "a: {bootstrap: 'h:1', zones: [az1]}",
    "a: {bootstrap: 'h:1', zones: {az1: 7}}",
    "a: {bootstrap: 'h:1', zones: {az1: ''}}",
    f"a: {{bootstrap: 'h:1', zones: {{az1: {'x' * 61}}}}}",
    "a: {bootstrap: 'h:1', expected: {rf: 0}}",
    "a: {bootstrap: 'h:1', windows: [{start: 2026-12-05T20:00Z}]}",
    "a: {bootstrap: 'h:1', windows: [{weekdays: [tues], at: '22:30', for: 2h}]}",
)


@pytest.mark.parametrize("cluster", GOOD)
def test_what_the_file_may_have_the_schema_accepts(cluster: str, schema: Draft202012Validator) -> None:
    text = (
        f"{HEAD}clusters:\n  {cluster}\nmutes: [{{clusters: '*', findings: [KFX6*], reason: x, until: 2030-12-31}}]\n"
    )
    assert parse_inventory(text, "f", ROOT).clusters
    assert [error.message for error in schema.iter_errors(plain(text))] == []


@for_each("cluster", WRONG)
def test_what_the_file_may_not_have_the_schema_refuses(cluster: str, schema: Draft202012Validator) -> None:
    text = f"{HEAD}clusters:\n  {cluster}\n"
    with pytest.raises(InvalidFileError):
        parse_inventory(text, "f", ROOT)
    assert not schema.is_valid(plain(text))
