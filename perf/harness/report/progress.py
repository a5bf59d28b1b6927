"""A line that says which case is measured, how many are left and about how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perf.harness.measure import Progress
from perf.harness.records import Failure
from perf.harness.report.conditions import void_line

if TYPE_CHECKING:
    import pytest


class ProgressLine(Progress):
    """Rewrites one line on a terminal; writes a line per process into a log, where nobody watches."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._rewrites = reporter.isatty and not reporter.no_header
        self._logged_process = 0
        self._measuring, self._unit = "measuring", "process"
        self._open_line = False

    def part(self, name: str, unit: str = "pair") -> None:
        """A part of a session begins."""
        self._measuring, self._unit = name, unit
        self._logged_process = 0

    def waiting(self, what: str) -> None:
        """Something is done that takes a while; a log has a line for it too."""
        if self._rewrites:
            self._show(what)
        else:
            self._reporter.write_line(what)

    def starting(self, device: str, process: int) -> None:
        """A worker is being started."""
        self._show(f"{self._measuring}: starting {self._unit} {process} on {device}")

    def started(self, key: str, process: int, done: int, total: int, seconds_left: float | None) -> None:
        """A case is about to be measured in one process."""
        left = "" if seconds_left is None else f", about {duration(seconds_left)} left"
        if self._rewrites:
            self._show(f"{self._measuring} {done + 1}/{total}: {key}, {self._unit} {process}{left}")
        elif process != self._logged_process:
            self._logged_process = process
            self._reporter.write_line(f"{self._measuring}: {self._unit} {process}, {done} of {total} done{left}")

    def failed(self, key: str, failure: Failure) -> None:
        """A case failed; its test will say all."""
        self.end()
        self._reporter.write_line(f"failed: {key} ({failure.stage})", red=True)

    def repeated(self, key: str, why: Sequence[str]) -> None:
        self.end()
        self._reporter.write_line(void_line(key, why))

    def end(self) -> None:
        """Removes the line."""
        if self._open_line:
            self._reporter.rewrite("", erase=True)
            self._open_line = False

    def _show(self, text: str) -> None:
        if self._rewrites:
            self._reporter.rewrite(text[: self._reporter._tw.fullwidth - 1], erase=True)
            self._open_line = True


def duration(seconds: float) -> str:
    """``40 s``, ``3 min``: an estimate does not carry more."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
