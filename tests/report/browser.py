"""What the tests of the page do with a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait


class Browser:
    """A driven browser with one page in it."""

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
