"""Every page and heading that a docstring, a runbook or another page cites exists."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CITATION = re.compile(r"\b((?:docs|runbooks|diagnostics|examples)/[\w./-]+\.md)(#[\w-]+)?")
LINK = re.compile(r"\]\(([^)\s:]+\.md)?(#[\w-]+)?\)")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file()]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors of the page's headings, as GitHub and the docs site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-") for heading in headings)


def missing(page: Path, anchor: str) -> bool:
    return not page.is_file() or (anchor != "" and anchor.removeprefix("#") not in anchors(page))


def test_every_page_that_is_cited_exists():
    wrong = [
        f"{path.relative_to(ROOT)}: {page}{anchor}"
        for path in tracked()
        if path.suffix in {".py", ".yaml", ".md", ".toml", ".txt", ".html", ".js"} and path != Path(__file__)
        for page, anchor in CITATION.findall(path.read_text())
        if missing(ROOT / page, anchor)
    ]
    assert wrong == []


def test_every_link_between_pages_finds_its_heading():
    wrong = [
        f"{page.relative_to(ROOT)}: {target}{anchor}"
        for page in tracked()
        if page.suffix == ".md"
        for target, anchor in LINK.findall(page.read_text())
        if missing(page.parent / target if target else page, anchor)
    ]
    assert wrong == []


def test_the_index_of_facts_names_every_page_of_facts():
    folder = ROOT / "docs" / "facts"
    index = (folder / "README.md").read_text()
    assert [p.name for p in folder.glob("*.md") if p.name != "README.md" and f"]({p.name})" not in index] == []


def test_every_page_of_facts_states_how_it_was_found_out():
    marks = re.compile(r"\[(?:tried|source|documented|inferred)|\b[Tt]ried\b|Measured on")
    pages = [p for p in (ROOT / "docs" / "facts").glob("*.md") if p.name != "README.md"]
    assert [p.name for p in pages if not marks.search(p.read_text())] == []
