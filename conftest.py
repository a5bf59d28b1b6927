"""Joins the two halves: the harness (how cases are measured) and the suite (which cases there are)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perf.harness.suite import Suite, SuiteRequest

pytest_plugins = ["perf.harness.plugin", "pytester"]


def pytest_perf_suite(request: SuiteRequest) -> Suite:
    """Answers the harness's question which cases there are; imported late, so that ``pytest`` alone stays light."""
    from perf.cases import suite

    return suite(request)
