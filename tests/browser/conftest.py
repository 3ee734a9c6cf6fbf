"""One Chromium for all browser tests of a worker, and their pages."""

import pytest

from kfix.fleet.report.html.page import render_html
from tests.browser.devtools import Browser
from tests.unit.fleet.report import reports

CASES = {
    "one": lambda: reports.report(1),
    "fifty": lambda: reports.with_future(reports.report(50)),
    "many": lambda: reports.report(500, findings=14, partitions=150),
    "empty": reports.empty,
    "dark": reports.dark,
    "hostile": lambda: reports.with_future(reports.report(28, hostile=True)),
}


@pytest.fixture(scope="session")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Path of a case's page, made once."""
    folder = tmp_path_factory.mktemp("pages")

    def path(case):
        file = folder / f"{case}.html"
        if not file.exists():
            file.write_text(render_html(CASES[case]()), encoding="utf-8")
        return file

    return path


@pytest.fixture
def opened(browser, files):
    """Opens a case; what it complained of, and what it asked the network for, is checked at the end."""
    pages = []

    def go(case, **emulated):
        page = browser.page(files(case), **emulated)
        pages.append(page)
        return page

    yield go
    browser.listen(0.2)
    for page in pages:
        assert page.complaints() == []
        assert page.requests() == []
        page.close()
