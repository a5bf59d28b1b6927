"""What should beat what, measured side by side on this machine: a test per expectation."""

from __future__ import annotations

from perf.harness.expectation_session import Expected


def test_expectation(expected: Expected) -> None:
    """Holds, or fails with its curve; too noisy to say is reported and does not fail."""
    expected.check()
