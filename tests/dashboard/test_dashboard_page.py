"""The dashboard in a real browser: a run that goes on moves by itself, nothing is complained of, keys are obeyed."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from browsing import dashboard_process, served, until
from headless import CHROMIUM, DRIVER, LAPTOP, PHONE, set_screen, start_browser
from shown_runs import carry_out, made_run

pytest.importorskip("selenium", reason="the browser is driven by selenium")
pytest.importorskip("uvicorn", reason="the server needs the extra `dashboard`")
pytest.importorskip("starlette", reason="the server needs the extra `dashboard`")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="Debian's packages chromium and chromium-driver are not installed"
)
HOSTILE = "<img src=x onerror='window.harmed=1'>"
PANELS = ["convergence", "subspace", "patience", "lines", "rewards", "importance", "coordinates", "times", "workers"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    made_run(folder / "runs.db", "empty", count=0, status="interrupted")
    made_run(folder / "runs.db", "large", dim=1000, count=120, constraints=2)
    made_run(folder / "runs.db", "other", method="sobol", count=60, seed=1)
    made_run(folder / "runs.db", HOSTILE, count=30, seed=2, status="interrupted")
    return folder


@pytest.fixture(scope="module")
def url(folder):
    with served(folder) as listening:
        yield listening.url


@contextmanager
def opened(browser, url, size=LAPTOP, scheme="light"):
    """Open the page, and see to it that it has complained of nothing and asked nobody else in the end."""
    set_screen(browser, size, scheme)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(url)
    until(lambda: browser.execute_script("return document.documentElement.dataset.ready") == "yes")
    yield browser
    assert browser.execute_script("return window.harmed") is None
    assert not {"null", "undefined", "NaN", "[object"} & set(text(browser, "body").split())
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    base = url.partition("#")[0]
    assert [each for each in requests if not each.startswith(("data:", base, "about:"))] == []


def text(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)


def count(browser, selector):
    return browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def key_of(browser, words):
    """Return the key of the run with these words in its row."""
    rows = browser.find_elements(By.CSS_SELECTOR, "#run-list li")
    (row,) = [row for row in rows if words in row.text]
    return row.get_attribute("data-key")


def test_a_run_that_goes_on_moves_without_a_reload(browser, tmp_path):
    running = carry_out(tmp_path, pause=0.08)
    try:
        with dashboard_process(tmp_path) as url, opened(browser, url):
            browser.execute_script("window.sameDocument = true")
            until(lambda: count(browser, "#convergence canvas") == 1)  # opened by itself
            assert text(browser, ".title .pill") == "live"

            def done():
                return int(text(browser, ".stat:nth-child(2) dd") or 0)

            first = until(done)
            until(lambda: done() > first + 8)
            until(lambda: count(browser, "#rewards canvas") == 1)  # lines are picked by now
            until(lambda: count(browser, "#importance .importance") == 8)
            running.kill()
            running.wait()
            until(lambda: text(browser, ".title .pill") == "stopped")
            assert "boids resume" in text(browser, ".head .notice")
            assert browser.execute_script("return window.sameDocument") is True
    finally:
        running.kill()
        running.wait()


def test_the_first_run_of_an_open_page_is_opened_by_itself(browser, tmp_path):
    with dashboard_process(tmp_path) as url, opened(browser, url):
        assert "There are no runs here yet" in text(browser, "#main")
        running = carry_out(tmp_path, pause=0.08)
        try:
            until(lambda: count(browser, "#convergence canvas") == 1)
        finally:
            running.kill()
            running.wait()


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_thousand_parameters_fit(browser, url, size):
    with opened(browser, url):
        key = key_of(browser, "1\u2009000 parameters")
    with opened(browser, f"{url}#/run/{key}", size):
        until(lambda: count(browser, "#importance .importance") == 8, seconds=60)
        assert [count(browser, f"#{panel}") for panel in PANELS] == [1] * len(PANELS)
        assert count(browser, "*") < 1500  # and not a thing per parameter or per trial
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
        too_wide = browser.execute_script(
            "return [...document.querySelectorAll('.panel, h1, .stats, .tools, .chart, .scroller')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.id || e.className)"
        )
        assert too_wide == []
        browser.execute_script("document.querySelector('#evaluations .rows .row').click()")
        until(lambda: count(browser, "dialog[open] .values div") == 1000)
        assert "null" not in text(browser, "dialog")
        search = browser.find_element(By.CSS_SELECTOR, "dialog input")
        search.send_keys("x[77")
        assert count(browser, "dialog .values div") == 11  # x[77] and x[770] … x[779]


def test_the_table_is_searched_sorted_and_paged(browser, url):
    with opened(browser, url):
        key = key_of(browser, "1\u2009000 parameters")
    with opened(browser, f"{url}#/run/{key}"):
        until(lambda: count(browser, "#evaluations .rows .row"))
        assert count(browser, "#evaluations .rows .row") < 40
        assert text(browser, "#evaluations .rows .row:first-child div") == "120"
        browser.execute_script("[...document.querySelectorAll('#evaluations .headings button')].at(2).click()")
        assert text(browser, '[aria-sort="ascending"]').startswith("Value")
        values = browser.execute_script(
            "return [...document.querySelectorAll('#evaluations .rows .row')].map(r => r.children[2].innerText)"
        )
        assert values == sorted(values, key=float)
        browser.execute_script("document.querySelector('#evaluations [data-value=failed]').click()")
        assert "7 of 120" in text(browser, "#evaluations .about")
        search = browser.find_element(By.CSS_SELECTOR, "#evaluations input")
        search.send_keys("mesh 34")
        assert "1 of 120" in text(browser, "#evaluations .about")
        assert "the mesh could not be made" in text(browser, "#evaluations .rows")
        grid = browser.find_element(By.CSS_SELECTOR, "#evaluations .scroller")
        grid.send_keys(Keys.ENTER)
        until(lambda: count(browser, "dialog[open] .error") == 1)
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        until(lambda: not count(browser, "dialog[open]"))


def test_the_list_is_searched_and_walked_with_the_keyboard(browser, url):
    with opened(browser, url):
        until(lambda: count(browser, "#convergence canvas") == 1)
        assert count(browser, "#run-list li") == 4
        search = browser.find_element(By.ID, "run-search")
        search.send_keys("sobol")
        assert count(browser, "#run-list li") == 1
        assert text(browser, "#run-count") == "1 of 4 runs"
        search.clear()
        search.send_keys(" ", Keys.BACKSPACE)
        assert count(browser, "#run-list li") == 4
        # Down into the list, two ticked with the space bar, and compared with Enter.
        search.send_keys(Keys.ARROW_DOWN)
        browser.switch_to.active_element.send_keys(" ")
        browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        browser.switch_to.active_element.send_keys(" ")
        outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        link = browser.find_element(By.ID, "compare-link")
        assert link.text == "Compare 2 runs"
        link.send_keys(Keys.ENTER)
        until(lambda: text(browser, "h1") == "2 runs compared")
        until(lambda: count(browser, "#comparison canvas") == 1)
        assert count(browser, "#compared tbody tr") == 2
        # Every control can be reached, and has a name.
        nameless = browser.execute_script(
            "return [...document.querySelectorAll('button, input, select, a, [tabindex=\"0\"]')]"
            ".filter(e => !(e.innerText || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML)"
        )
        assert nameless == []
        browser.find_element(By.CSS_SELECTOR, "#run-list a").send_keys(Keys.END)
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        until(lambda: "#/run/" in browser.current_url)


def test_other_methods_show_fewer_panels(browser, url):
    with opened(browser, url):
        key = key_of(browser, "sobol")
        names = text(browser, "#run-list")
    assert HOSTILE not in names  # a name is in the head of its run only
    with opened(browser, f"{url}#/run/{key}"):
        until(lambda: count(browser, "#convergence canvas") == 1)
        assert count(browser, "#evaluations") == 1
        assert text(browser, "h1") == "made-up"


def test_empty_and_unknown_runs_say_what_to_do(browser, url, tmp_path):
    with opened(browser, url):
        key = key_of(browser, "0 of 11")
        stopped = key_of(browser, "30 of 40")
    with opened(browser, f"{url}#/run/{key}"):
        until(lambda: "No evaluation was begun" in text(browser, "main"))
    with opened(browser, f"{url}#/run/{stopped}"):
        until(lambda: HOSTILE in text(browser, ".id"))
    with opened(browser, f"{url}#/run/0123456789abcdef"):
        until(lambda: "There is no such run" in text(browser, "main"))
    with served(tmp_path) as nothing, opened(browser, nothing.url, PHONE):
        until(lambda: "boids run hartmann" in text(browser, "main"))


def test_the_token_leaves_the_address(browser, folder):
    with served(folder, token="correct-horse-battery") as listening:
        set_screen(browser)
        browser.get(listening.url)
        until(lambda: count(browser, "#run-list li") == 4)
        assert "token" not in browser.current_url
        assert browser.execute_script("return document.cookie") == ""  # out of reach of scripts


def test_colours_follow_the_system_and_the_switch(browser, url):
    def ground():
        return browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")

    with opened(browser, url, scheme="dark"):
        dark = ground()
        until(lambda: count(browser, "#convergence canvas") == 1)
        browser.find_element(By.CSS_SELECTOR, "#theme [data-theme=light]").click()
        light = ground()
        assert dark != light
    with opened(browser, url, scheme="dark"):
        assert ground() == light  # remembered
        browser.find_element(By.CSS_SELECTOR, "#theme [data-theme=auto]").click()
        assert ground() == dark
    with opened(browser, url):
        assert ground() == light
