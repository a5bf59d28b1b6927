"""How other tools would judge the same rounds: their own code where it can be imported, else as documented."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perf.harness.errors import Refusal

#: Whether the candidate is called slower, from the seconds per step of the rounds of baseline and candidate.
Judge = Callable[[Sequence[float], Sequence[float]], bool]

#: Criterion's defaults (https://bheisler.github.io/criterion.rs/book/user_guide/command_line_options.html).
NOISE_THRESHOLD, SIGNIFICANCE, CONFIDENCE = 0.01, 0.05, 0.95
#: Criterion draws 100 000. With 2 000 the p value near 5 % has a standard error of 1 %, so only verdicts that are a
#: matter of luck anyway can differ.
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to call a case slower; ``source`` is where it stands."""

    name: str
    source: str
    slower: Judge


def rules(seed: int) -> tuple[Rule, ...]:
    """All peers, with the settings that their documentation names; raises :class:`Refusal` where one is missing."""
    benchmark = "pytest_benchmark.utils.PercentageRegressionCheck"
    return (
        Rule("pytest-benchmark, median:10%", benchmark, _pytest_benchmark("median", statistics.median)),
        Rule("pytest-benchmark, min:10%", benchmark, _pytest_benchmark("min", min)),
        Rule("asv, factor 1.1, Mann–Whitney p < .002", "asv.commands.compare", _asv()),
        Rule("pyperf, pooled t, 95 %", "pyperf._utils.is_significant", _pyperf()),
        Rule(
            "Criterion, bootstrap t p < .05, beyond 1 %",
            "https://bheisler.github.io/criterion.rs/book/analysis.html#comparison",
            Criterion(seed).slower,
        ),
    )


def _pytest_benchmark(name: str, statistic: Callable[[Sequence[float]], float]) -> Judge:
    """``--benchmark-compare-fail=NAME:10%``."""
    from pytest_benchmark.utils import PercentageRegressionCheck

    make: Any = PercentageRegressionCheck  # its package claims to be typed, and this class is not
    check = make(name, 10)
    return lambda baseline, candidate: bool(check.fails({name: statistic(candidate)}, {name: statistic(baseline)}))


def _asv() -> Judge:
    """``asv continuous`` and ``asv compare --factor 1.1``: the medians, after a Mann–Whitney test of the samples."""
    try:
        from asv.commands.compare import _is_result_better
        from asv_runner.statistics import compute_stats
    except ImportError as error:
        raise _missing("asv", error) from None

    def slower(baseline: Sequence[float], candidate: Sequence[float]) -> bool:
        (then, then_stats), (now, now_stats) = compute_stats(baseline, 1), compute_stats(candidate, 1)
        return bool(_is_result_better(then, now, (then_stats, list(baseline)), (now_stats, list(candidate)), 1.1))

    return slower


def _pyperf() -> Judge:
    """``pyperf compare_to``: significant, and slower. Its test takes equally many values; the longer side is cut."""
    try:
        from pyperf._utils import is_significant
    except ImportError as error:
        raise _missing("pyperf", error) from None

    def slower(baseline: Sequence[float], candidate: Sequence[float]) -> bool:
        count = min(len(baseline), len(candidate))
        significant, t = is_significant(list(candidate[:count]), list(baseline[:count]))
        return bool(significant and t > 0)

    return slower


def _missing(package: str, error: ImportError) -> Refusal:
    return Refusal(
        f"The rule of {package} is judged by its own code, which cannot be imported ({error}). Install it with the "
        "extra 'quality' of this project: python -m pip install -e '.[quality]'."
    )


class Criterion:
    """The comparison of Criterion.rs, which is Rust and written out here from its book (see :func:`rules`).

    The t statistic of the two samples is held against its distribution over resamples of both mixed; where p < .05, the
    candidate is slower if the whole 95 % bootstrap interval of the ratio of means lies above the noise threshold.
    """

    def __init__(self, seed: int, resamples: int = RESAMPLES) -> None:
        self._random = np.random.default_rng(seed)
        self._resamples = resamples

    def slower(self, baseline: Sequence[float], candidate: Sequence[float]) -> bool:
        """Whether Criterion prints "Performance has regressed"."""
        then, now = np.asarray(baseline), np.asarray(candidate)
        return self.p_value(then, now) < SIGNIFICANCE and self.change_low(then, now) > NOISE_THRESHOLD

    def p_value(self, then: NDArray[np.float64], now: NDArray[np.float64]) -> float:
        """Two-sided, of the means being equal."""
        mixed = self._resampled(np.concatenate([now, then]), now.size + then.size)
        drawn = _t(mixed[:, : now.size], mixed[:, now.size :])
        below = np.count_nonzero(drawn < _t(now[None], then[None])[0])
        return 2 * min(below, self._resamples - below) / self._resamples

    def change_low(self, then: NDArray[np.float64], now: NDArray[np.float64]) -> float:
        """The lower end of the interval of the relative change of the mean."""
        ratios = self._resampled(now, now.size).mean(axis=1) / self._resampled(then, then.size).mean(axis=1)
        return float(np.quantile(ratios, (1 - CONFIDENCE) / 2)) - 1

    def _resampled(self, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        resampled: NDArray[np.float64] = values[self._random.integers(values.size, size=(self._resamples, count))]
        return resampled


def _t(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Welch's t of each row."""
    error = a.var(axis=1, ddof=1) / a.shape[1] + b.var(axis=1, ddof=1) / b.shape[1]
    t: NDArray[np.float64] = (a.mean(axis=1) - b.mean(axis=1)) / np.sqrt(error)
    return t
