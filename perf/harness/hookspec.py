"""The one hook of this plugin."""

from __future__ import annotations

import pytest

from perf.harness.suite import Suite, SuiteRequest


@pytest.hookspec(firstresult=True)
def pytest_perf_suite(request: SuiteRequest) -> Suite | None:
    """Return the suite for what is asked; raise :class:`perf.harness.errors.Refusal` for bad input.

    Called once, in ``pytest_configure``, so that whatever can be refused is refused before collection. Implement it
    in the root ``conftest.py``::

        def pytest_perf_suite(request):
            from perf.cases import suite
            return suite(request)
    """
