"""Diagnoses for the tests of formats, and the published schemas that judge them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
from lxml import etree

from kfix.core.criteria import Criteria
from kfix.core.derive.checks import Check
from kfix.core.diagnosis.finding import Diagnosis
from kfix.diagnose.diagnosis import Choice, judged_checks
from kfix_diagnostics.engine import diagnose
from tests.places import ROOT
from tests.unit.core.derive.places import two
from tests.unit.diagnostics.test_incidents import INCIDENTS

SCHEMAS = ROOT / "tests" / "schemas"


@cache
def seen(name: str, *, prevention: bool = False) -> Diagnosis:
    """Returns the diagnosis of an incident of the golden files."""
    return diagnose(INCIDENTS[name][0](), criteria=Criteria(prevention=prevention))


def merged() -> Diagnosis:
    from kfix.core.derive.merging.merge import merge

    return diagnose(merge(two()))


@cache
def rules(*, prevention: bool = False) -> tuple[Check, ...]:
    return judged_checks(Choice(prevention=prevention))


@cache
def _sarif() -> Any:
    return jsonschema.Draft4Validator(
        json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()), format_checker=jsonschema.FormatChecker()
    )


def valid_sarif(text: str) -> Any:
    """Returns the run of a log that the schema of SARIF 2.1.0 accepts."""
    log = json.loads(text)
    assert [f"{list(e.absolute_path)}: {e.message}" for e in _sarif().iter_errors(log)] == []
    [run] = log["runs"]
    return run


@cache
def _junit() -> Any:
    return etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd"))


def valid_junit(text: str) -> Any:
    """Returns the suite of a report that the schema of JUnit reports accepts; its totals are right."""
    root = etree.fromstring(text.encode())
    _junit().assertValid(root)
    [suite] = root
    for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(total) == str(len(suite.findall(f"testcase/{kind}")))
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    return suite
