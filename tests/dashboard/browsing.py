"""A real browser, and a dashboard in a process of its own, for the tests and for the pictures of the docs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
LAPTOP, PHONE = (1366, 850), (390, 844)


def start_browser(profile):
    """Return a headless Chromium that keeps its console's messages."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The driver is named, so that selenium does not look for one on the network.
    return webdriver.Chrome(options=options, service=Service(DRIVER, log_output=os.devnull))


def set_screen(browser, size=LAPTOP, scheme="light"):
    """Give the browser a screen, and the colours that its user likes."""
    width, height = size
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@contextmanager
def served(*paths, **options):
    """Serve a dashboard in a thread, and give its address."""
    from boids.dashboard.serving import listen

    listening = listen(paths, port=0, **options)
    thread = threading.Thread(target=listening.serve)
    thread.start()
    try:
        yield listening
    finally:
        listening.end()
        thread.join(timeout=20)
        assert not thread.is_alive()


@contextmanager
def dashboard_process(folder, *arguments):
    """Serve the runs of a folder as a person would, and give the address."""
    command = [sys.executable, "-m", "boids", "dashboard", *map(str, arguments), "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def until(test, seconds=30.0):
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := test()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found
