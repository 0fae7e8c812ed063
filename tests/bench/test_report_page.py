"""The report in a real browser: it renders, asks nobody, fits a laptop and a phone, and answers clicks and keys."""

import json
from contextlib import contextmanager

import pytest
from bench.made_runs import write_plan, write_run, write_study
from headless import CHROMIUM, DRIVER, LAPTOP, PHONE, set_screen, start_browser

from boids.bench import load
from boids.bench.report import write_report

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="Debian's packages chromium and chromium-driver are not installed"
)
HOSTILE = "</script><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_study(folder / "results", methods=13, problems=4, repetitions=3, length=60)
    write_report(load(folder / "results"), folder / "report.html")
    return folder / "report.html"


@contextmanager
def opened(browser, path, size=LAPTOP, scheme="light"):
    """Open the page, and see to it that it has complained of nothing and asked for nothing in the end."""
    set_screen(browser, size, scheme)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    WebDriverWait(browser, 10).until(
        lambda b: b.execute_script("return document.documentElement.dataset.ready") == "yes"
    )
    # Figures are drawn when the page has its width.
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
    yield browser
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", path.as_uri()))] == []


def all_of(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def count(browser, selector):
    return browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_it_is_drawn_and_fits(browser, report, size):
    with opened(browser, report, size):
        assert browser.title == "Methods for many parameters"
        WebDriverWait(browser, 10).until(lambda b: count(b, "#curve-figures svg g[data-method]") == 4 * 13)
        assert count(browser, "#finals-table tbody tr") == 13
        assert count(browser, "#finals-table td.best") == 4
        assert count(browser, "#ranks-figure svg .clique") >= 1
        assert count(browser, "#tests-table tbody tr") == 12
        assert count(browser, "#profile-figures svg g[data-method]") == 2 * 13
        assert count(browser, "#times-figure rect") >= 13
        assert count(browser, "#coverage-table .dot.missing") == 1
        assert count(browser, "#coverage-table .dot.broken") == 1
        assert "Partial results" in all_of(browser, ".notice")[0].text
        # Nothing is wider than the window: what is wide scrolls by itself.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
        too_wide = browser.execute_script(
            "return [...document.querySelectorAll('h1,h2,p,.figure,.controls,.legend,.wide')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.id || e.className)"
        )
        assert too_wide == []
        small = browser.execute_script(
            "return [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height < 9).length"
        )
        assert small == 0


def test_labels_in_the_figures_do_not_overlap(browser, report):
    with opened(browser, report):
        overlaps = browser.execute_script(
            """return [...document.querySelectorAll('#curve-figures svg')].map(svg => {
              const boxes = [...svg.querySelectorAll('text.label')].map(t => t.getBoundingClientRect());
              let found = 0;
              boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
                if (Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) found++;
              }));
              return found; })"""
        )
        assert overlaps == [0, 0, 0, 0]


def test_lines_have_names_at_every_width(browser, report):
    with opened(browser, report):
        assert count(browser, "#curve-figures .names span") == 0  # the names stand beside the lines
    with opened(browser, report, PHONE):
        of_each = browser.execute_script(
            "return [...document.querySelectorAll('#curve-figures .figure')]"
            ".map(f => [...f.querySelectorAll('.names > span')].map(s => s.textContent))"
        )
        assert [len(names) for names in of_each] == [13] * 4
        assert of_each[0][-1] == "BOIDS"  # in the order of the lines, the lowest last


def test_values_of_the_times_are_not_taken_for_those_of_the_paper(browser, tmp_path):
    for method, seconds in (("boids", 5.0), ("turbo", 3.0)):
        header = {"problem_name": "ackley", "dim": 100, "seconds": seconds}
        write_run(tmp_path, "ackley-100", method, 0, [3.0, 2.0], **header)
    write_report(load(tmp_path), tmp_path / "report.html")
    for size in (LAPTOP, PHONE):
        with opened(browser, tmp_path / "report.html", size):
            overlaps = browser.execute_script(
                """const box = (e) => e.getBoundingClientRect();
                const texts = [...document.querySelectorAll('#times-figure svg text')].map(box);
                const marks = [...document.querySelectorAll('#times-figure svg path, #times-figure .processor')];
                return marks.map(box).filter(m => texts.some(t => t.left < m.right && m.left < t.right
                  && t.top + 3 < m.bottom && m.top + 3 < t.bottom)).length"""
            )
            assert overlaps == 0
            assert "CPU 4.50 s\npaper 11.9 s" in all_of(browser, "#times-table")[0].text


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_large_critical_difference_fits(browser, tmp_path, size):
    for r in range(3):
        write_run(tmp_path, "p", "a", r, [3.0, 1.0])
        write_run(tmp_path, "p", "b", r, [3.0, 2.0])
    write_report(load(tmp_path), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html", size):
        beyond = browser.execute_script(
            "const f = document.querySelector('#ranks-figure'), edge = f.getBoundingClientRect();"
            "return [...f.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > edge.right"
            " || t.getBoundingClientRect().left < edge.left).map(t => t.textContent)"
        )
        assert beyond == []


def test_methods_can_be_hidden(browser, report):
    with opened(browser, report):
        button = all_of(browser, "#legend button")[2]
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        assert count(browser, "#curve-figures g[data-method='2']") == 0
        assert count(browser, "#curve-figures g[data-method='1']") == 4
        all_of(browser, "#legend .all")[1].click()
        assert count(browser, "#curve-figures g[data-method]") == 0
        all_of(browser, "#legend .all")[0].click()
        assert count(browser, "#curve-figures g[data-method]") == 4 * 13
        button.send_keys(Keys.ENTER)  # the keyboard does the same
        assert count(browser, "#curve-figures g[data-method='2']") == 0


def test_statistics_axes_and_bands_can_be_chosen(browser, report):
    with opened(browser, report):
        assert "Mean ± standard error" in all_of(browser, "#finals-text")[0].text
        assert "log scale" in all_of(browser, "#curve-figures .about")[0].text
        assert count(browser, "#curve-figures .band") > 0
        for group, place in (("statistic", 1), ("axis", 2), ("bands", 1)):
            all_of(browser, f"#choose-{group} button")[place].click()
        assert "Median and quartiles" in all_of(browser, "#finals-text")[0].text
        about = all_of(browser, "#curve-figures .about")[0].text
        assert "median" in about
        assert "log scale" not in about
        assert count(browser, "#curve-figures .band") == 0
        before = browser.execute_script("return document.querySelector('#profile-figures .curve').getAttribute('d')")
        all_of(browser, "#choose-tolerance button")[0].click()
        after = browser.execute_script("return document.querySelector('#profile-figures .curve').getAttribute('d')")
        assert before != after


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_values_can_be_read_by_keyboard(browser, report, size):
    with opened(browser, report, size):
        picture = all_of(browser, "#curve-figures svg")[0]
        browser.execute_script("arguments[0].focus()", picture)
        picture.send_keys(Keys.END)
        readout = all_of(browser, "#curve-figures .readout")[0]
        assert readout.is_displayed()
        assert readout.text.startswith("after 60 evaluations\nBOIDS")  # the best first
        assert "ALEBO (d=10)" in readout.text
        assert "(ended)" in readout.text
        edges = browser.execute_script(
            "const b = arguments[0].getBoundingClientRect(); return [b.left, b.right]", readout
        )
        assert edges[0] >= 0
        assert edges[1] <= size[0]
        picture.send_keys(Keys.ESCAPE)
        assert not readout.is_displayed()


def test_runs_can_be_searched_sorted_and_opened(browser, report):
    with opened(browser, report):
        search = all_of(browser, "#run-search")[0]
        search.send_keys("cma-bo error")
        assert all_of(browser, "#run-count")[0].text == "1 of 155 runs"
        row = all_of(browser, "#runs-table .open")[0]
        row.click()
        details = all_of(browser, "#runs-table .details")[0].text
        assert "LinAlgError: not positive definite" in details
        assert "Traceback" in details
        assert "a processor" in details
        row.click()
        assert count(browser, "#runs-table .details") == 0
        search.send_keys(Keys.CONTROL, "a")
        search.send_keys(Keys.DELETE)
        all_of(browser, "#runs-table .sort")[3].click()
        browser.execute_script("arguments[0].click()", all_of(browser, "#runs-table .sort")[3])
        heads = browser.execute_script("return [...document.querySelectorAll('#runs-table th')].map(h => h.ariaSort)")
        assert heads[3] == "descending"
        all_of(browser, "#more-runs")[0].send_keys(Keys.ENTER)
        assert count(browser, "#runs-table tbody tr") == 155


def test_dark(browser, report):
    with opened(browser, report, scheme="dark"):
        ground = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
        assert ground == "rgb(18, 22, 26)"
        assert browser.execute_script("return getComputedStyle(document.body).color") == "rgb(231, 236, 240)"


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_hostile_texts_stay_texts(browser, tmp_path, size):
    label = HOSTILE + "x" * 200
    write_plan(tmp_path, [(label, label, 0, 2), (label, "b", 0, 2)], label)
    write_run(tmp_path, label, label, 0, [2.0, None], error=(HOSTILE, HOSTILE), folder="x", settings={HOSTILE: 1})
    write_run(tmp_path, label, "b", 0, [None, None], folder="y")
    (tmp_path / "z.jsonl").write_text("{}\n")
    write_report(load(tmp_path), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html", size):
        browser.execute_script("document.querySelectorAll('.open').forEach(b => b.click())")
        assert browser.execute_script("return window.harmed === undefined")
        assert count(browser, "img") == 0
        assert HOSTILE in all_of(browser, "h1")[0].text
        assert HOSTILE in all_of(browser, "#runs-table pre")[0].text
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]


def test_next_to_nothing(browser, tmp_path):
    write_plan(tmp_path, [("p", "m", 0, 2)])
    write_report(load(tmp_path), tmp_path / "plan.html")
    with opened(browser, tmp_path / "plan.html"):
        assert "1 of 1 planned run" in all_of(browser, ".notice")[0].text
    write_run(tmp_path, "p", "m", 0, [3.0])
    write_report(load(tmp_path), tmp_path / "one.html")
    with opened(browser, tmp_path / "one.html"):
        assert count(browser, "#curve-figures svg") == 1


def test_unfinished_curves_are_not_carried_on(browser, tmp_path):
    write_run(tmp_path, "p", "a", 0, [3.0, 2.0, 1.0, 0.5])
    write_run(tmp_path, "p", "b", 0, [3.0, 2.5], budget=4, status=None)
    write_run(tmp_path, "p", "c", 0, [3.0, 2.8], budget=4, status="time limit")
    write_report(load(tmp_path), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html"):
        carried = (
            "return [...document.querySelectorAll('#curve-figures .carried')]"
            ".map(p => p.closest('[data-method]').dataset.method)"
        )
        assert browser.execute_script(carried) == ["2"]
        picture = all_of(browser, "#curve-figures svg")[0]
        browser.execute_script("arguments[0].focus()", picture)
        picture.send_keys(Keys.END)
        text = all_of(browser, "#curve-figures .readout")[0].text
        assert text.splitlines()[1:] == ["a 0.5000", "b 2.500 (so far)", "c 2.800 (ended)"]
