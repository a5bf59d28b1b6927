"""The peak on real TensorFlow, with matrices so small that it takes no time."""

from __future__ import annotations

import math

from lstm_models import peak


def test_every_precision_has_a_rate_on_a_cpu() -> None:
    found = peak.peak(False, sides=(8, 16), seconds=0.02)
    assert found["transfer"] is None
    assert "float32" in found["flops_per_second"]
    assert set(found["flops_per_second"]) <= set(peak.PRECISIONS)
    assert all(math.isfinite(rate) and rate > 0 for rate in found["flops_per_second"].values())


def test_the_best_of_the_sides_counts_and_time_ends_it() -> None:
    """A clock on which every round takes a second: the first side alone spends the limit."""
    ticks = iter(range(1_000_000))
    found = peak.peak(False, sides=(8, 16), seconds=1.0, clock=lambda: float(next(ticks)))
    assert found["flops_per_second"]["float32"] == 2 * 8**3
