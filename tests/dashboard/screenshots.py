"""Make the pictures of docs/dashboard.md: `PYTHONPATH=tests python tests/dashboard/screenshots.py`, a few minutes.

Four runs are made with the command line, a fifth one goes on while its picture is taken. ``--runs FOLDER`` keeps the
runs there, or takes those that are there already.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browsing import dashboard_process, until
from headless import LAPTOP, PHONE, set_screen, start_browser

PICTURES = Path(__file__).parents[2] / "docs" / "images" / "dashboard"
WING = '''
import time

import numpy as np


def drag(x):
    """Sixty shape parameters, twelve of which matter; two constraints, and a mesh that cannot always be made."""
    time.sleep(0.05 + 0.1 * abs(x[0]))
    if x[1] > 0.85:
        raise RuntimeError("the mesh could not be made: negative volume in cell 3120")
    value = ((x - 0.3) ** 2)[:12].sum() + 0.02 * np.abs(x[12:]).sum()
    return float(value), [float(x[2] + x[3] - 0.4), float(-x[5] - 0.6)]
'''
RUNS = [
    ["hartmann", "--dim", "100", "--budget", "250", "--seed", "1", "--method", "sobol"],
    ["hartmann", "--dim", "100", "--budget", "250", "--seed", "0", "--method", "turbo"],
    ["hartmann", "--dim", "100", "--budget", "250", "--seed", "0"],
    ["wing:drag", "--dim", "60", "--low", "-1", "--high", "1", "--constraints", "2", "--budget", "160",
     "--workers", "3", "--async", "--seed", "3"],
]  # fmt: skip
LIVE = ["hartmann", "--dim", "100", "--budget", "250", "--seed", "2"]


def start(folder, arguments):
    """Start a run."""
    return subprocess.Popen(
        [sys.executable, "-m", "boids", "run", *arguments, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL
    )


def picture(browser, name, size=LAPTOP, scheme="light", whole=False):
    """Save what is to be seen now; `whole` is all of the page, not only what fits the screen."""
    set_screen(browser, size, scheme)
    time.sleep(0.5)
    if whole:
        height = browser.execute_script("return document.documentElement.scrollHeight")
        set_screen(browser, (size[0], height), scheme)
    time.sleep(1.5)
    browser.save_screenshot(str(PICTURES / f"{name}.png"))
    print(PICTURES / f"{name}.png")


def main():
    """Make the runs, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=None, metavar="FOLDER")
    folder = parser.parse_args().runs or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    (folder / "wing.py").write_text(WING)
    if not (folder / "boids-runs.db").exists():
        for arguments in RUNS:
            start(folder, arguments).wait()
    browser = start_browser(tempfile.mkdtemp())
    going_on = None
    try:
        with dashboard_process(folder) as url:
            set_screen(browser)
            browser.get(url)
            script = browser.execute_script

            def row(words):
                rows = "[...document.querySelectorAll('#run-list li')]"
                return until(lambda: script(f"return {rows}.find(r => r.innerText.includes('{words}'))?.dataset.key"))

            wing, boids, turbo, sobol = row("wing:drag"), row("boids · 100"), row("turbo"), row("sobol")
            browser.get(f"{url}#/run/{wing}")
            until(lambda: script("return document.querySelectorAll('.importance').length"), 60)
            time.sleep(2)
            picture(browser, "run", whole=True)
            picture(browser, "phone", PHONE)
            set_screen(browser)
            script("document.querySelector('#evaluations [data-value=failed]').click()")
            script("document.querySelector('#evaluations .rows .row').click()")
            until(lambda: script("return document.querySelector('dialog[open]')"))
            picture(browser, "evaluation")
            script("document.querySelector('dialog').close()")
            browser.get(f"{url}#/compare/{boids},{turbo},{sobol}")
            time.sleep(2)
            picture(browser, "compare")
            going_on = start(folder, LIVE)
            browser.get(f"{url}#/run/{row('live')}")
            until(
                lambda: script("return Number(document.querySelector('.stat:nth-child(2) dd')?.innerText ?? 0)") > 90,
                120,
            )
            picture(browser, "live", scheme="dark")
            messages = browser.get_log("browser")
            if messages:
                raise SystemExit(f"The page complained: {messages}")
    finally:
        browser.quit()
        if going_on is not None:
            going_on.kill()
            going_on.wait()


if __name__ == "__main__":
    main()
