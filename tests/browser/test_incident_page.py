"""The post-mortem's page in a real browser: offline, by keyboard, light and dark, small and wide."""

import pytest

from kfix.incident.report.page import render_incident
from tests.unit.incident.report import reports

pytestmark = pytest.mark.xdist_group("browser")

SHOWN = "[...document.querySelectorAll('#events tbody tr[data-theme]')].filter(r => !r.hidden).length"


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("incidents")
    made = {}

    def path(case):
        if case not in made:
            made[case] = folder / f"{case}.html"
            made[case].write_text(render_incident(getattr(reports, case)()), encoding="utf-8")
        return made[case]

    return path


@pytest.mark.parametrize("case", ["founding_incident", "large", "single", "hostile", "with_run_only"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_stands_and_nothing_hangs_over(opened, case, width, dark):
    page = opened(case, width=width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("document.querySelectorAll('.lane svg').length") >= 3
    widths = page.run(
        "[...document.querySelectorAll('.lane:not(.axis) svg.track')].map(s => s.getBoundingClientRect().width)"
    )
    assert min(widths) > 200


def test_the_colours_follow_the_scheme(opened):
    light, dark = (opened("founding_incident", dark=dark) for dark in (False, True))
    colour = "getComputedStyle(document.body).backgroundColor"
    bar = "getComputedStyle(document.querySelector('.bar.b0, .bar.b1')).fill"
    assert light.run(colour) != dark.run(colour)
    assert light.run(bar) != dark.run(bar)


def test_the_picture_comes_first_and_marks_what_is_not_known(opened):
    page = opened("founding_incident")
    assert page.run("document.querySelector('main section').id") == "picture"
    assert page.run("document.querySelectorAll('rect.bar.none').length") >= 1
    assert page.run("document.querySelectorAll('rect.unknown').length") > 1
    assert page.run("[...document.querySelectorAll('.flag')].map(f => f.textContent).join(',')") == (
        "began,detected,service restored,fully recovered"
    )


def test_the_keyboard_reaches_everything(opened):
    page = opened("founding_incident")
    page.key("Tab")
    assert page.run("document.activeElement.className") == "skip"
    reached = []
    for _ in range(40):
        page.key("Tab")
        reached.append(page.run("document.activeElement.dataset.zoom || document.activeElement.className || "
                                "document.activeElement.id || document.activeElement.tagName"))  # fmt: skip
        if reached[-1] == "find":
            break
    assert {"in", "all", "figure", "SUMMARY", "find"} <= set(reached)
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_time_line_is_filtered_by_words_and_themes(opened):
    page = opened("founding_incident")
    every, loud = page.run("document.querySelectorAll('#events tbody tr[data-theme]').length"), page.run(SHOWN)
    assert 0 < loud < every
    page.run("document.getElementById('quiet').click()")
    assert page.run(SHOWN) == every
    page.run("document.getElementById('find').focus()")
    page.type("reassign.noop")
    assert page.run(SHOWN) == 1
    assert page.run("document.getElementById('found').textContent") == f"1 of {every} events"
    page.key("Escape")
    assert page.run(SHOWN) == every
    page.run("document.querySelector('input[value=leader]').click()")
    assert 0 < page.run(SHOWN) < every


def test_enlarging_scrolls_inside_the_picture_only(opened):
    page = opened("founding_incident")
    page.run("document.querySelector('[data-zoom=in]').click(); document.querySelector('[data-zoom=in]').click()")
    assert page.run("document.querySelector('.lanes').scrollWidth / document.querySelector('.figure').clientWidth") > 3
    assert page.run("document.documentElement.scrollWidth") <= 1280
    assert page.run("document.querySelector('.lane:not(.axis) .name').getBoundingClientRect().left") > 0
    page.run("document.querySelector('[data-zoom=all]').click()")
    assert page.run("document.querySelector('[data-zoom=out]').disabled")


def test_no_hostile_name_becomes_an_element(opened):
    page = opened("hostile")
    assert page.run("document.querySelectorAll('main script, main img, main iframe, main a').length") == 0
    assert page.run("document.body.textContent.includes('<script>alert(1)</script>')")


def test_the_policy_forbids_the_network_and_scripts_of_others(opened):
    page = opened("founding_incident")
    page.run(
        "new Promise(done => { const s = document.createElement('script'); s.textContent = 'window.bad = 1'; "
        "document.body.append(s); const i = new Image(); i.onerror = i.onload = done; "
        "i.src = 'http://127.0.0.1:9/x'; })"
    )
    assert page.run("window.bad") is None
    assert "script-src" in " ".join(page.complaints())
    page.browser.events.clear()


def test_on_paper_everything_is_open_and_in_light_colours(opened):
    page = opened("founding_incident", dark=True)
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('.filter')).display") == "none"
    assert page.run("[...document.querySelectorAll('details:not(.twin)')].every(d => d.open)")


def test_without_the_script_all_is_there(files):
    text = files("founding_incident").read_text()
    assert text.count("data-theme=") == len(reports.founding_incident().events)
    assert '<form class="filter" id="filter" hidden>' in text
