"""The documentation as a site (`make docs`): it builds without a warning, and fetches nothing."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.places import ROOT


def built(folder, where):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = built(folder, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_broken_link_fails_the_build(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# kfix\n\n[gone](gone.md), [nowhere](README.md#nowhere)\n")
    settings = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": "docs", "nav": [{"Home": "README.md"}], "hooks": []}
    (tmp_path / "mkdocs.yml").write_text(json.dumps(settings))
    done = built(tmp_path / "site", tmp_path)
    assert done.returncode == 1
    assert "gone.md" in done.stderr
    assert "nowhere" in done.stderr


def test_the_site_has_a_page_for_each_finding_runbook_and_page_of_docs(site):
    assert (site / "findings" / "KFX101.html").exists()
    assert {p.stem for p in (ROOT / "runbooks").glob("*.yaml")} == {p.stem for p in (site / "runbooks").glob("*.html")}
    made = {str(p.relative_to(site).with_suffix("")) for p in site.rglob("*.html")}
    assert {str(p.relative_to(ROOT / "docs").with_suffix("")) for p in (ROOT / "docs").rglob("*.md")} <= {
        name.replace("index", "README") for name in made
    }


def test_no_page_fetches_anything_from_elsewhere(site):
    fetched = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?https?://[^">]+')
    assert {found for page in site.rglob("*.html") for found in fetched.findall(page.read_text())} == set()
    assert [p.name for p in site.rglob("*.css") if re.search(r"url\(['\"]?https?:", p.read_text())] == []
