"""The line of progress, on a terminal and in a log."""

from types import SimpleNamespace

import pytest

from perf.harness.records import Failure
from perf.harness.report.progress import ProgressLine


class Reporter:
    """What the line needs of pytest's terminal reporter."""

    def __init__(self, isatty: bool) -> None:
        self.isatty, self.no_header = isatty, False
        self._tw = SimpleNamespace(fullwidth=80)
        self.lines: list[str] = []

    def rewrite(self, text: str, **markup: bool) -> None:
        self.lines.append(text)

    def write_line(self, text: str, **markup: bool) -> None:
        self.lines.append(text)


@pytest.mark.parametrize(
    ("isatty", "lines"),
    [
        (True, ["screening: starting pair 1 on cpu", "screening 3/12: forward[a], pair 1, about 40 s left"]),
        (False, ["screening: pair 1, 2 of 12 done, about 40 s left"]),
    ],
)
def test_a_part_of_a_paired_session_is_named_and_counts_pairs(isatty, lines):
    reporter = Reporter(isatty)
    progress = ProgressLine(reporter)
    progress.part("screening")
    progress.starting("cpu", 1)
    progress.started("forward[a]", 1, 2, 12, 40.0)
    assert reporter.lines == lines


@pytest.mark.parametrize(
    ("isatty", "lines"),
    [
        (True, ["measuring: starting process 2 on cpu", "measuring 1/3: forward[a], process 2"]),
        (False, ["measuring: process 2, 0 of 3 done"]),
    ],
)
def test_a_session_of_one_side_counts_processes(isatty, lines):
    reporter = Reporter(isatty)
    progress = ProgressLine(reporter)
    progress.starting("cpu", 2)
    progress.started("forward[a]", 2, 0, 3, None)
    assert reporter.lines == lines


def test_a_failure_stands_on_a_line_of_its_own():
    reporter = Reporter(True)
    progress = ProgressLine(reporter)
    progress.starting("cpu", 1)
    progress.failed("forward[a]", Failure("proof", "another kernel"))
    assert reporter.lines[-2:] == ["", "failed: forward[a] (proof)"]
