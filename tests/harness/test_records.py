"""What is derived from the records."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tests.harness import makers


@pytest.mark.parametrize(
    ("steady", "expected"),
    [
        ([True], True),
        ([False], False),
        ([True, False], False),
        ([True, True, False], True),
        ([True, False, False], False),
    ],
)
def test_a_case_is_steady_if_most_processes_were(steady: list[bool], expected: bool) -> None:
    result = makers.result([0.01] * len(steady))
    samples = tuple(dataclasses.replace(s, steady=one) for s, one in zip(result.samples, steady, strict=True))
    assert dataclasses.replace(result, samples=samples).steady is expected


def test_the_time_of_a_case_is_the_median_over_processes() -> None:
    assert makers.result([0.01, 0.02, 0.9]).log_seconds_per_step == pytest.approx(math.log(0.02))
