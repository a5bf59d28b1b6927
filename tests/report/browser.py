"""One headless Chromium for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_MISSING = "needs Chromium and its driver: apt-get install chromium chromium-driver"


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, page: Path) -> None:
        self.driver.get_log("browser")  # what was logged so far is of the page before
        self.driver.get(page.as_uri())

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {code}", *arguments)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def wait(self, code: str, *arguments: Any) -> None:
        """Until a script says true; at most 20 s, on a busy machine."""
        WebDriverWait(self.driver, 20).until(lambda _: self.script(code, *arguments), code)

    def errors(self) -> list[str]:
        """Whatever the console was told since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def shown(self) -> list[str]:
        """Names of the cases that the table shows, in their order."""
        return [row.get_attribute("data-name") or "" for row in self.all("tr.case") if row.is_displayed()]

    def see(self, element: WebElement) -> WebElement:
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        return element

    def media(self, **features: str) -> None:
        """Sets media features, such as ``prefers_color_scheme="dark"``."""
        pairs = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": pairs})


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
