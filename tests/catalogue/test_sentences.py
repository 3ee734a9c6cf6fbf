"""All sentences of the catalogue in one golden file, for a native reader; and the form that each of them has."""

import os
import re
from collections.abc import Iterator
from datetime import date

import pytest

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Finding
from kfix.core.fleetcase import ClusterDigest, FleetCase, Stuck
from kfix.core.inventory.model import ClusterEntry
from kfix_diagnostics.catalogue import find, pages
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.fleet import FLEET
from tests.places import ROOT
from tests.unit.diagnostics.cases import SICK

GOLDEN = ROOT / "tests" / "golden" / "sentences.txt"
_STARTS = re.compile(r"[A-Z`]")


def _fleet() -> FleetCase:
    """A fleet that has every finding of KFX701 to KFX705."""
    day = date(2026, 3, 2)
    digests = [
        ClusterDigest("a", "id-a", 1000.0, 3, 10, 100, {"min.insync.replicas": "2"}),
        ClusterDigest("b", "id-b", 1000.0, 3, 10, 100, {"min.insync.replicas": "2"}),
        ClusterDigest("c", "id-b", 9000.0, 3, 10, 100, {"min.insync.replicas": "1"}),
    ]
    names = {d.name: d for d in digests}
    entries = {name: ClusterEntry(name, bootstrap=f"{name}:9092", tags=("prod",)) for name in (*names, "d")}
    stuck = {"a": (Stuck("KFX302", ("orders-1", "orders-2"), date(2026, 3, 1)),)}
    return FleetCase(
        day, 900.0, 1100.0, entries, names, {"d": "no answer in 5 s"},
        last_read={"d": date(2026, 2, 27)}, stuck=stuck, previous_ids={"a": "id-before"},
    )  # fmt: skip


def found(code: str) -> list[Finding]:
    """Returns the findings of one code, over all clusters and fleets of the tests that have it."""
    over_fleets = {check.code: check for check in FLEET}
    if code in over_fleets:
        return [finding for _, finding in over_fleets[code].findings(_fleet())]
    options = Criteria(prevention=find(code).prevention)
    sick = [diagnose(case.make(), criteria=options) for case in SICK[code]]
    return [finding for diagnosis in sick for finding in diagnosis.walk() if finding.code == code]


def sentences(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yields (kind, text) of everything that a finding states in words."""
    yield "summary", finding.summary
    if finding.blocked.who:
        yield "blocked", finding.blocked.who
    yield f"cause ({finding.cause.confidence.value})", finding.cause.text
    for remedy in finding.remedies:
        yield "remedy", remedy.text
    for text in finding.never:
        yield "do not", text


@pytest.fixture(scope="module")
def catalogue() -> dict[str, list[tuple[str, str]]]:
    return {
        check.code: list(dict.fromkeys(row for finding in found(check.code) for row in sentences(finding)))
        for check in pages()
    }


def test_all_sentences_are_the_golden_ones(catalogue: dict[str, list[tuple[str, str]]]) -> None:
    lines = []
    for check in pages():
        lines += [f"{check.code} {check.slug}: {check.title}"]
        lines += [f"  {kind}: {text}" for kind, text in catalogue[check.code]]
        lines += [""]
    text = "\n".join(lines)
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"


def test_every_code_has_sentences(catalogue: dict[str, list[tuple[str, str]]]) -> None:
    assert [code for code, rows in catalogue.items() if not rows] == []


def test_every_sentence_has_its_form(catalogue: dict[str, list[tuple[str, str]]]) -> None:
    """No final period: reports add it. Remedies and warnings start with a capital letter, warnings with "Do not"."""
    wrong = []
    for code, rows in catalogue.items():
        for kind, text in rows:
            bad = text != text.strip() or "  " in text or re.search(r"[;:,]$|\w\.$", text) is not None
            bad = bad or (kind == "remedy" and not _STARTS.match(text))
            bad = bad or (kind == "do not" and not text.startswith("Do not "))
            wrong += [f"{code} {kind}: {text}"] if bad else []
    assert wrong == []


def test_titles_are_phrases_in_lower_case_without_a_period() -> None:
    assert [c.title for c in pages() if c.title.endswith(".") or c.title != c.title.strip()] == []
