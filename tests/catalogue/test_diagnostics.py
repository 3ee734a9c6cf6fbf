"""Rules over all diagnostics: complete, documented, independent, and honest about what they read."""

import ast
import importlib
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kfix.adapters.saved.encode import encode
from kfix.derive.casefile import CaseFile, open_case
from kfix.derive.checks import Check, ClusterCheck, PartitionCheck
from kfix.errors import InvalidFileError, UsageError
from kfix.model.audit.fleetcase import FleetCheck
from kfix.model.cluster.snapshot import Snapshot
from kfix_diagnostics import ALL, catalogue
from kfix_diagnostics.catalogue import pages
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.fleet import FLEET
from tests.places import ROOT
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.cases import SICK, WELL

FOLDER = ROOT / "diagnostics" / "kfix_diagnostics"
FLEET_FILES = sorted((FOLDER / "fleet").glob("kfx*.py"))
#: By code: the folder says what a check is about, the catalogue is ordered by code.
CHECK_FILES = sorted({*FOLDER.rglob("kfx*.py")} - {*FLEET_FILES}, key=lambda path: path.stem)
SECTIONS = ("Why it matters", "How kfix knows", "Remedies, safest first", "Do not", "Sources")
GENERATED = ("docs/diagnostics.md", "diagnostics/README.md")
IDS = [check.code for check in ALL]


def test_every_file_of_a_check_is_in_the_catalogue() -> None:
    modules = [importlib.import_module(f"kfix_diagnostics.{path.parent.name}.{path.stem}") for path in CHECK_FILES]
    assert [m.CHECK for m in modules] == list(ALL)
    over_fleets = [importlib.import_module(f"kfix_diagnostics.fleet.{path.stem}") for path in FLEET_FILES]
    assert [m.CHECK for m in over_fleets] == list(FLEET)


def test_codes_and_slugs_are_unique_and_codes_sorted() -> None:
    assert sorted(set(IDS)) == IDS
    assert len({check.slug for check in pages()}) == len({check.code for check in pages()}) == len(ALL) + len(FLEET)


@pytest.mark.parametrize("check", pages(), ids=lambda c: c.code)
def test_the_file_is_named_after_code_and_slug(check: Check | FleetCheck) -> None:
    [path] = FOLDER.rglob(f"{check.code.lower()}_*.py")
    assert path.stem == f"{check.code.lower()}_{check.slug.replace('-', '_')}"
    assert (path.parent.name == "fleet") == isinstance(check, FleetCheck)


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_each_code_has_a_sick_and_a_nearly_sick_cluster(check: Check) -> None:
    assert SICK[check.code]
    assert WELL[check.code]


@pytest.mark.parametrize("check", pages(), ids=lambda c: c.code)
def test_the_page_of_a_code_is_complete(check: Check | FleetCheck) -> None:
    page = catalogue.page(check)
    assert page.startswith(f"{check.code} {check.slug}: ")
    headings = [line for line in page.splitlines()[1:] if line and not line.startswith(" ")]
    assert tuple(headings) == SECTIONS
    for section in SECTIONS:
        assert re.search(rf"^{section}\n    \S", page, re.MULTILINE), section


@pytest.mark.parametrize("path", [*CHECK_FILES, *FLEET_FILES], ids=lambda p: p.stem)
def test_no_check_knows_another(path: Path) -> None:
    names = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert not [n for n in names if n and "kfx" in n.removeprefix("kfix_diagnostics")]
    ours = {n for n in names if n and n.startswith(("kfix", "kfix_diagnostics"))}
    assert all(re.match(r"kfix\.(model|derive)\.|kfix_diagnostics(\.[a-z]+)?(\._|$)", n) for n in ours), ours


@pytest.mark.parametrize("path", [*CHECK_FILES, *FLEET_FILES, *FOLDER.rglob("_[a-z]*.py")], ids=lambda p: p.stem)
def test_words_stay_neutral_about_causes_nobody_can_prove(path: Path) -> None:
    assert "zombie" not in path.read_text().lower()


class Recorder:
    """A case file that remembers what it was asked; helpers of the case file itself are not recorded."""

    def __init__(self, case: CaseFile) -> None:
        self._case = case
        self.touched: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.touched.add(name)
        return getattr(self._case, name)


def _snapshots() -> list[Snapshot]:
    sick = [case.make() for cases in SICK.values() for case in cases]
    return sick + [make() for makes in WELL.values() for make in makes]


@pytest.fixture(scope="module")
def touched() -> dict[str, set[str]]:
    """Over all clusters of the tests: code -> what the check looked at."""
    found: dict[str, set[str]] = {code: set() for code in IDS}
    for snapshot in _snapshots():
        case = open_case(snapshot)
        hits = catalogue.matcher()(case.facts)
        rows = {c.code: tuple(r) for c, r in zip(catalogue.PARTITION_CHECKS, hits, strict=True)}
        for check in ALL:
            recorder: Any = Recorder(case)
            if isinstance(check, ClusterCheck):
                list(check.check(recorder))
            elif rows[check.code]:
                list(check.describe(rows[check.code], recorder))
            found[check.code] |= recorder.touched
    return found


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_a_check_reads_what_it_declares_and_nothing_else(check: Check, touched: dict[str, set[str]]) -> None:
    assert tuple(sorted(touched[check.code])) == check.reads
    for name in check.reads:
        assert hasattr(CaseFile, name) or name in CaseFile.__dataclass_fields__


def test_every_condition_is_sound() -> None:
    assert len(catalogue.predicates()) == len(catalogue.PARTITION_CHECKS)
    assert all(p.to_sql() for p in catalogue.predicates())


def test_a_mistake_in_a_condition_is_told_with_file_and_line() -> None:
    first = catalogue.PARTITION_CHECKS[0]
    wrong = PartitionCheck(
        code="KFX999",
        slug="x",
        title="x",
        severity=first.severity,
        when="offsets and leaderles",
        describe=first.describe,
    )
    with pytest.raises(InvalidFileError, match=r"kfx101_coordinator_stuck\.py.*did you mean 'leaderless'"):
        catalogue.predicates([wrong])
    number = int(catalogue.where(first).rpartition(":")[2])
    assert first.when in (FOLDER / "leadership" / "kfx101_coordinator_stuck.py").read_text().splitlines()[number - 1]


def test_checks_are_found_by_code_and_by_slug() -> None:
    assert catalogue.find("kfx101") is catalogue.find("coordinator-stuck")
    with pytest.raises(UsageError, match="did you mean 'KFX101'"):
        catalogue.find("KFX1O1")


@pytest.mark.parametrize("name", GENERATED)
def test_the_table_of_codes_is_fresh(name: str) -> None:
    path = ROOT / name
    said = path.read_text()
    fresh = re.sub(
        r"(<!-- codes: begin -->\n).*?(<!-- codes: end -->)",
        lambda m: f"{m[1]}{catalogue.table()}\n{m[2]}",
        said,
        flags=re.DOTALL,
    )
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.write_text(fresh)
    assert path.read_text() == fresh, "KFIX_UPDATE_GOLDEN=1 rewrites it"
    assert catalogue.table() in fresh


def test_judging_ten_thousand_partitions_costs_no_more_than_reading_them() -> None:
    """In one run, against the encoding of the same snapshot as JSON: 0.06 s against 0.1 s on two idle cores."""
    snapshot = Paper(range(1, 4)).offsets(50).topic("big", 10_000).snapshot()
    diagnose(snapshot)
    pairs = [(_seconds(lambda: diagnose(snapshot)), _seconds(lambda: json.dumps(encode(snapshot)))) for _ in range(5)]
    ratio = min(judged for judged, _ in pairs) / min(read for _, read in pairs)
    assert ratio < 3, f"{ratio:.2f}"


def _seconds(work: Callable[[], object]) -> float:
    """CPU seconds: the machine may be at work on something else."""
    began = time.process_time()
    work()
    return time.process_time() - began
