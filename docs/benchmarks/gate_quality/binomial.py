"""What a count allows to be said of a rate: Clopper & Pearson, Biometrika 26 (1934). SciPy is imported when used."""

from __future__ import annotations

LEVEL = 0.95


def upper_bound(hits: int, count: int, level: float = LEVEL) -> float:
    """The one-sided upper bound of a rate that was seen ``hits`` times in ``count``: 0 of 200 bounds it at 1.5 %."""
    if hits == count:
        return 1.0
    return _beta_quantile(hits + 1, count - hits, level)


def interval(hits: int, count: int, level: float = LEVEL) -> tuple[float, float]:
    """The two-sided interval of a rate."""
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _beta_quantile(hits, count - hits + 1, tail)
    return low, upper_bound(hits, count, 1 - tail)


def _beta_quantile(a: float, b: float, probability: float) -> float:
    from scipy.special import betaincinv  # a tenth of the import time of scipy.stats

    return float(betaincinv(a, b, probability))
