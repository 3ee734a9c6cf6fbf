"""What the site (`make docs`) adds to the pages of this folder: a page a finding, a page a runbook, and working links.

The sources are read as they are on any other viewer; links to files outside of docs/ lead to the repository instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

from kfix.heal.report.page import page
from kfix.heal.runbook.catalogue import load_all
from kfix_diagnostics.catalogue import pages

DOCS = Path(__file__).parent
REPOSITORY = "https://github.com/kfix-project/kfix/blob/main"
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[\w-]+)?(?=\))")
CITED = re.compile(r"\bdocs/([\w/-]+\.md)(#[\w-]+)?")


def on_config(config: Any) -> Any:
    nav = [(title, _filled(entry)) for item in config["nav"] for title, entry in item.items()]
    config["nav"] = [{title: entry} for title, entry in nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    for path, text in (*_findings(), *_runbooks()):
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = PurePosixPath(page.file.src_uri)
    if here.name == "diagnostics.md":
        markdown = re.sub(r"^\| (KFX\d+) \|", r"| [\1](findings/\1.md) |", markdown, flags=re.MULTILINE)
    return LINK.sub(lambda found: _target(here, found[1]) + (found[2] or ""), markdown)


def _filled(entry: Any) -> Any:
    """Returns a part of the navigation with the names of folders replaced by the pages in them."""
    if isinstance(entry, list):
        return [page for item in entry for page in _pages_in(item)]
    return _pages_in(entry) if "." not in entry else entry


def _pages_in(entry: str) -> list[str]:
    if entry == "findings":
        return [path for path, _ in _findings()]
    if entry == "runbooks":
        return [path for path, _ in _runbooks()]
    if (DOCS / entry).is_dir():
        return sorted(f"{entry}/{p.name}" for p in (DOCS / entry).glob("*.md"))
    return [entry]


def _findings() -> Iterator[tuple[str, str]]:
    for check in pages():
        first, _, rest = check.page.partition("\n")
        body = re.sub(r"^(?=\S)(.+)$", r"## \1", rest, flags=re.MULTILINE)
        body = re.sub(r"^ {4}", "", body, flags=re.MULTILINE)
        body = CITED.sub(lambda found: f"[{found[1]}](../{found[1]}{found[2] or ''})", body)
        yield (
            f"findings/{check.code}.md",
            f"---\ntitle: {check.code} {check.slug}\n---\n\n# {check.code}\n\n{first}\n{body}\n",
        )


def _runbooks() -> Iterator[tuple[str, str]]:
    for runbook in load_all(None):
        yield f"runbooks/{runbook.id}.md", page(runbook)


def _target(here: PurePosixPath, link: str) -> str:
    """Returns the link as it is where it leads to a page or picture of the site, else the address in the repository."""
    there = (DOCS / here.parent / link).resolve()
    if there == DOCS / "adr":
        return "adr/001-own-protocol-line.md"
    if there.is_relative_to(DOCS) or not there.exists():
        return link
    return f"{REPOSITORY}/{there.relative_to(DOCS.parent)}"
