"""The documentation as a site (`make docs`): it builds without a warning, and fetches nothing."""

import os
import re
import subprocess
import sys

import pytest

from tests.places import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


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
