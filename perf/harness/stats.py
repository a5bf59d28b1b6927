"""The statistics that verdicts and tables are made of. Pure; SciPy is imported where it is used (1.2 s)."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; the ends are ``None`` where one observation cannot tell its spread."""

    value: float
    low: float | None
    high: float | None


def interval_over_processes(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Median of positive ``values``, one per process, with the t interval of the mean of their logarithms.

    Processes, not rounds, are the replication: rounds of one process share its memory layout and thread placement
    (Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013). Logarithms, since times are skewed and
    are compared as ratios.
    """
    middle = statistics.median(values)
    if len(values) < 2:
        return Estimate(middle, None, None)
    mean, half = mean_and_half_width([math.log(value) for value in values], level)
    # With two or three processes the median lies inside by itself; with more it may not, and a value outside its
    # own interval helps nobody.
    return Estimate(middle, min(math.exp(mean - half), middle), max(math.exp(mean + half), middle))


def mean_and_half_width(values: Sequence[float], level: float) -> tuple[float, float]:
    """Mean of at least two values and the half width of its t interval."""
    half = t_quantile((1 + level) / 2, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half


def successive_difference_variance(values: Sequence[float]) -> tuple[float, float]:
    """Variance from successive differences, and its effective degrees of freedom.

    s^2 = sum (y[i+1] - y[i])^2 / (2 (n - 1)): von Neumann, Kent, Bellinson & Hart, The mean square successive
    difference, Annals of Mathematical Statistics 12 (1941). A slow drift inflates it far less than the ordinary
    variance. Its variance is sigma^4 (3n - 4) / (n - 1)^2, that of a chi-square with 2 (n - 1)^2 / (3n - 4) degrees
    of freedom. ``values`` in the order of time, at least two.
    """
    n = len(values)
    squares = sum((after - before) ** 2 for before, after in itertools.pairwise(values))
    return squares / (2 * (n - 1)), 2 * (n - 1) ** 2 / (3 * n - 4)


def second_difference_variance(values: Sequence[float]) -> tuple[float, float]:
    """Variance from second differences, which a steady drift does not inflate at all, and its degrees of freedom.

    s^2 = sum (y[i+1] - 2 y[i] + y[i-1])^2 / (6 (n - 2)): Gasser, Sroka & Jennen-Steinmetz, Residual variance and
    residual pattern in nonlinear regression, Biometrika 73 (1986). Neighbouring terms correlate by -4/6 and 1/6, so N
    terms count as N^2 / (N + 2 (N-1) (4/6)^2 + 2 (N-2) (1/6)^2). At least three values; it knows less than
    :func:`successive_difference_variance` where nothing drifts.
    """
    terms = [(a - 2 * b + c) ** 2 for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    n = len(terms)
    degrees = n**2 / (n + 2 * (n - 1) * (4 / 6) ** 2 + 2 * max(n - 2, 0) * (1 / 6) ** 2)
    return sum(terms) / (6 * n), degrees


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of one run's logarithmic time, and its degrees of freedom (infinite: taken as known)."""

    sd: float
    degrees: float


def shrunk_spreads(
    histories: Mapping[str, Sequence[float]],
    *,
    detrended: Collection[str] = (),
    prior_degrees: float = 4.0,
    floor: float = 0.0,
) -> dict[str, Spread]:
    """Spread per case from its own history, shrunk towards the mean of all (at least three values each).

    From successive differences, for the keys in ``detrended`` from second differences.

    s~^2 = (d0 s0^2 + v s^2) / (d0 + v) with d0 + v degrees of freedom, s0^2 the mean of s^2 over the cases: after
    Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004). d0 is ``prior_degrees``, but never
    more than what the *other* cases know together: one case alone borrows nothing, else its few values would be
    counted twice.
    """
    own = {
        key: (second_difference_variance if key in detrended else successive_difference_variance)(values)
        for key, values in histories.items()
    }
    if not own:
        return {}
    common = statistics.fmean(variance for variance, _ in own.values())
    known = sum(degrees for _, degrees in own.values())
    spreads = {}
    for key, (variance, degrees) in own.items():
        prior = min(prior_degrees, known - degrees)
        shrunk = (prior * common + degrees * variance) / (prior + degrees)
        spreads[key] = Spread(max(math.sqrt(shrunk), floor), prior + degrees)
    return spreads


def holm(p_values: Mapping[_Key, float], level: float = 0.05) -> dict[_Key, float]:
    """Keys rejected by Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979), each with the level
    that it was tested at: ``level`` over the number of hypotheses that were left."""
    rejected = {}
    for position, (key, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        local = level / (len(p_values) - position)
        if p > local:
            break
        rejected[key] = local
    return rejected


def t_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t; infinite ``degrees`` are the normal distribution."""
    if math.isinf(degrees):
        return statistics.NormalDist().inv_cdf(probability)
    from scipy.special import stdtrit  # a tenth of the import time of scipy.stats

    return float(stdtrit(degrees, probability))


def upper_tail(t: float, degrees: float) -> float:
    """P(T > t); infinite ``degrees`` are the normal distribution."""
    if math.isinf(degrees):
        return 0.5 * math.erfc(t / math.sqrt(2))  # keeps its digits far out, where 1 - cdf is 0
    from scipy.special import stdtr

    return float(stdtr(degrees, -t))
