"""Numbers as text: no more digits than their spread supports."""

from __future__ import annotations

import math

from perf.harness.records import Change
from perf.harness.stats import Estimate

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_ENERGY_UNITS = ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"))
_COUNT_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_MIB = 2**20


def seconds(estimate: Estimate | float) -> str:
    """A time in the unit that suits it, with its interval: ``12.3 ms 11.9–12.8``."""
    return _with_unit(estimate, _TIME_UNITS)


def joules(estimate: Estimate | float) -> str:
    """An energy in the unit that suits it, with its interval: ``12.3 mJ 11.9–12.8``."""
    return _with_unit(estimate, _ENERGY_UNITS)


def per_second(estimate: Estimate) -> str:
    """A rate, with its interval: ``2.61 k 2.50–2.69``."""
    return _with_unit(estimate, _COUNT_UNITS)


def mebibytes(estimate: Estimate) -> str:
    """Bytes as MiB without the unit, with the range: ``330 315–345``."""
    return _interval(estimate, _MIB, "", 0 if estimate.value >= 10 * _MIB else 1)


def ratio(change: Change) -> str:
    """A ratio with its interval: ``1.97 (1.62–2.40)``."""
    digits = decimals(change.high - change.low, change.ratio)
    return f"{change.ratio:.{digits}f} ({change.low:.{digits}f}–{change.high:.{digits}f})"


def percent(estimate: Estimate) -> str:
    """A part of a whole, with its interval: ``12 % 11–13``; tenths and less only where there is little more."""
    value, width = 100 * estimate.value, 100 * ((estimate.high or 0.0) - (estimate.low or 0.0))
    most = 0 if value >= 10 else 1 if value >= 1 else max(decimals(0.0, value) - 1, 0)
    return _interval(estimate, 0.01, "%", min(decimals(width, value), most))


def decimals(width: float, value: float) -> int:
    """Decimals that show an interval's width with two significant digits, and at most four digits of the value.

    Where there is no width, three digits of the value: nothing is known of its spread.
    """
    if value == 0:
        return 0
    of_value = math.floor(math.log10(abs(value)))
    if width <= 0:
        return max(2 - of_value, 0)
    return max(min(1 - math.floor(math.log10(width)), 3 - of_value), 0)


def _with_unit(estimate: Estimate | float, units: tuple[tuple[float, str], ...]) -> str:
    if not isinstance(estimate, Estimate):
        estimate = Estimate(estimate, None, None)
    scale, unit = next((unit for unit in units if estimate.value >= unit[0]), units[-1])
    return _interval(estimate, scale, unit)


def _interval(estimate: Estimate, scale: float, unit: str, digits: int | None = None) -> str:
    value = estimate.value / scale
    if estimate.low is None or estimate.high is None:
        return f"{value:.{decimals(0.0, value) if digits is None else digits}f} {unit}".rstrip()
    low, high = estimate.low / scale, estimate.high / scale
    if digits is None:
        digits = decimals(high - low, value)
    return " ".join(f"{value:.{digits}f} {unit} {low:.{digits}f}–{high:.{digits}f}".split())


def counted(number: int, noun: str) -> str:
    """``1 process``, ``3 processes``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
