"""The audit's page in a real browser: it stands offline, by keyboard, with hostile names, at 1, 50 and 500 clusters."""

import json

import pytest

pytestmark = pytest.mark.xdist_group("browser")

DRAWN = "[...document.querySelectorAll('[data-chart]')].every(c => c.querySelector('.drawing, .empty'))"
SHOWN = "[...document.querySelectorAll('#cluster-table > tbody > tr:not(.inside)')].filter(r => !r.hidden).length"


def whole(page):
    """All charts come into the window, so all are drawn; then all parts are open."""
    page.run("const box = document.getElementById('heat-box'); if (box) box.open = true;")
    page.size(page.run("innerWidth"), min(page.run("document.documentElement.scrollHeight"), 12_000))
    page.until(DRAWN)
    page.run("document.querySelectorAll('main details').forEach(d => { d.open = true; })")


def search(page, text):
    page.run("document.getElementById('search').focus(); document.getElementById('search').select()")
    page.type(text)
    page.until(f"document.getElementById('cluster-table').dataset.filter === {json.dumps(text)}")


@pytest.mark.parametrize(
    ("case", "width"),
    [
        ("one", 1280),
        ("fifty", 390),
        ("many", 1280),
        ("empty", 1280),
        ("dark", 390),
        ("hostile", 390),
        ("hostile", 1280),
    ],
)
def test_every_chart_is_drawn_and_nothing_hangs_over(opened, case, width):
    page = opened(case, width=width, dark=width == 390)
    whole(page)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert not page.run("[...document.querySelectorAll('[data-chart]')].some(c => c.textContent.includes('could not'))")
    assert page.run("document.getElementById('trouble').hidden")


def test_the_policy_forbids_the_network_and_scripts_of_others(opened):
    page = opened("one")
    page.run(
        "new Promise(done => { const s = document.createElement('script'); s.textContent = 'window.bad = 1'; "
        "document.body.append(s); const i = new Image(); i.onerror = i.onload = done; "
        "i.src = 'http://127.0.0.1:9/x'; })"
    )
    assert page.run("window.bad") is None
    said = " ".join(page.complaints())
    assert "script-src" in said
    assert "img-src" in said
    page.browser.events.clear()


def test_no_hostile_name_becomes_an_element(opened):
    page = opened("hostile")
    whole(page)
    page.run("document.querySelectorAll('.opener').forEach(b => b.click())")
    page.until("document.querySelectorAll('.inside .finding').length > 20")
    page.run("document.querySelectorAll('.finding, .finding details').forEach(d => { d.open = true; })")
    page.browser.listen(0.5)
    page.run("document.querySelectorAll('.finding details').forEach(d => { d.open = true; })")
    page.browser.listen(0.5)
    assert page.run("document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert page.run("document.querySelectorAll('main a:not([href^=\"#\"])').length") == 0
    assert page.run("document.body.textContent.includes('<script>alert(1)</script>')")


def test_search_finds_clusters_findings_and_partitions(opened):
    page = opened("fifty")
    assert page.run(SHOWN) == 50
    name = page.run("document.querySelectorAll('.opener .name')[7].textContent")
    search(page, name)
    assert page.run(SHOWN) == 1
    search(page, "KFX101 orders-1")
    few = page.run(SHOWN)
    assert 0 < few < 50
    assert " match the filter." in page.run("document.getElementById('found').textContent")
    search(page, "nothing-has-this-name")
    assert page.run(SHOWN) == 0
    assert not page.run("document.getElementById('none-found').hidden")
    page.key("Escape")
    assert page.run(SHOWN) == 50
    assert page.run("document.activeElement.id") == "search"
    assert page.run("document.getElementById('search').value") == ""


def test_an_open_cluster_shows_only_what_fits_and_states_it(opened):
    page = opened("fifty")
    search(page, "KFX302")
    page.run("[...document.querySelectorAll('.opener')].find(b => !b.closest('tr').hidden).click()")
    page.until("document.querySelectorAll('.inside .finding').length > 0")
    assert page.run("[...document.querySelectorAll('.inside .finding')].every(f => f.textContent.includes('KFX302'))")
    more = "[...document.querySelectorAll('.inside button')].find(b => b.textContent.includes('hidden by the filter'))"
    if page.run(f"!!{more}"):
        before = page.run("document.querySelectorAll('.inside .finding').length")
        page.run(f"{more}.click()")
        page.until(f"document.querySelectorAll('.inside .finding').length > {before}")


def test_the_keyboard_reaches_the_skip_link_and_opens_a_cluster_a_finding_and_its_partitions(opened):
    page = opened("fifty")
    page.key("Tab")
    assert page.run("document.activeElement.className") == "skip"
    page.key("Enter")
    assert page.run("location.hash") == "#main"
    page.run("[...document.querySelectorAll('#cluster-table > tbody > tr')][8].querySelector('.opener').focus()")
    page.key("Enter")
    page.until("document.querySelectorAll('.inside .finding').length > 0")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.key("Tab")
    assert page.run("document.activeElement.tagName") == "SUMMARY"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("Enter")
    page.until("document.querySelector('.finding[open] .evidence') !== null")
    assert page.run("document.querySelectorAll('.finding[open] .command code').length") > 0
    for _ in range(12):
        page.key("Tab")
        if page.run("document.activeElement.textContent.endsWith(' partitions')"):
            break
    page.key(" ")
    page.until("document.querySelectorAll('.finding[open] .names code').length > 0")
    page.key("Tab")
    assert page.run("document.activeElement.type") == "search"
    every = page.run("document.querySelectorAll('.names code').length")
    page.type("-1")
    assert 0 < page.run("document.querySelectorAll('.names code').length") < every
    page.key("Escape")
    assert page.run("document.querySelectorAll('.names code').length") == every


def test_columns_sort_and_unknown_clusters_stay_on_top(opened):
    page = opened("fifty")
    score = "document.querySelectorAll('#cluster-table thead button')[1]"
    cells = "[...document.querySelectorAll('#cluster-table > tbody > tr')].map(r => Number(r.cells[1].dataset.v))"
    page.run(f"{score}.click()")
    up = page.run(cells)
    page.run(f"{score}.click()")
    down = page.run(cells)
    lost = up.count(-1)
    assert lost
    assert up[:lost] == down[:lost] == [-1] * lost
    assert up[lost:] == sorted(up[lost:])
    assert down[lost:] == up[lost:][::-1]
    assert page.run(f"{score}.closest('th').getAttribute('aria-sort')") == "descending"


def test_a_page_of_a_chart_shows_the_next_clusters(opened):
    page = opened("fifty")
    whole(page)
    label = "document.querySelector('[data-pager=\"heat\"] [data-range]').textContent"
    assert page.run(label) == "clusters 1 to 30 of 50"
    page.run("document.querySelectorAll('[data-pager=\"heat\"] button')[1].click()")
    assert page.run(label) == "clusters 31 to 50 of 50"
    page.until("document.querySelectorAll('[data-chart=\"heat\"] text.row').length == 20")
    page.run("document.getElementById('heat-table').open = true")
    page.until("document.querySelectorAll('#heat-table tbody tr').length == 50")


def test_unknown_clusters_come_first_and_are_never_good(opened):
    page = opened("dark")
    assert page.run("document.querySelector('main section').id") == "unknown"
    assert page.run("document.querySelectorAll('.verdict.good, .badge.good').length") == 0
    assert page.run("document.querySelectorAll('#cluster-table .badge.unknown').length") == 4


def test_a_button_of_a_check_filters_and_one_of_a_cluster_opens_it(opened):
    page = opened("fifty")
    page.run("document.querySelector('#checks button').click()")
    assert page.run("document.getElementById('search').value").startswith("KFX")
    page.run("document.querySelector('.news .link').click()")
    page.until("document.querySelectorAll('.inside .finding').length > 0")
    assert page.run("document.getElementById('search').value") == ""
    assert page.run("document.activeElement.classList.contains('opener')")


def test_searching_five_hundred_clusters_costs_less_than_drawing_them(opened, files):
    assert files("many").stat().st_size < 4_000_000
    page = opened("many")
    whole(page)
    assert (drawing := page.processor_seconds()) > 0
    search(page, "KFX101 orders-149")
    assert 0 < page.run(SHOWN) < 500
    page.run(
        """new Promise(done => {
            const found = document.getElementById('found');
            const field = document.getElementById('search');
            new MutationObserver(done).observe(found, {childList: true});
            field.value = 'payments.v2-33';
            field.dispatchEvent(new Event('input'));
        })"""
    )
    assert page.processor_seconds() < 2 * drawing  # 1.3 times as much


def test_without_scripts_the_tables_are_there(browser, files):
    text = files("fifty").read_text()
    assert "<noscript>" in text
    assert text.count('class="opener"') == 50
    assert text.count('<details class="card ') == 20
