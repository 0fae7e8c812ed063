"""A real browser for the tests of pages, and for the pictures of the docs."""

from __future__ import annotations

import os
import shutil

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
