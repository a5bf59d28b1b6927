"""Bounds against published and closed-form values."""

from __future__ import annotations

import pytest

from docs.benchmarks.gate_quality.binomial import interval, upper_bound


@pytest.mark.parametrize(("hits", "count", "bound"), [(0, 200, 1 - 0.05 ** (1 / 200)), (0, 1, 0.95), (7, 7, 1.0)])
def test_upper_bound_of_none_and_of_all(hits, count, bound):
    assert upper_bound(hits, count) == pytest.approx(bound, rel=1e-9)


def test_none_of_200_bounds_a_rate_at_one_and_a_half_percent():
    assert round(100 * upper_bound(0, 200), 1) == 1.5


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        (1, 10, 0.0025286, 0.4450161),  # binom.test(1, 10) in R
        (5, 10, 0.1870860, 0.8129140),
        (0, 10, 0.0, 0.3084971),
        (10, 10, 0.6915029, 1.0),
    ],
)
def test_two_sided_interval(hits, count, low, high):
    assert interval(hits, count) == pytest.approx((low, high), abs=1e-6)
