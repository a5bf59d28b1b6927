"""One headless Chromium for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver

from tests.report.browser import Browser

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_MISSING = "needs Chromium and its driver: apt-get install chromium chromium-driver"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Skipped where there is no Chromium, except in CI: there it has to be."""
    binary = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    chromedriver = shutil.which("chromedriver")
    if binary is None or chromedriver is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(_MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
